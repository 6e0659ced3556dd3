import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseMode, toMode } from "./access-modes.ts";

test("access modes map to CSI modes with and without SINGLE_NODE_MULTI_WRITER", () => {
  assert.equal(toMode("ReadWriteOnce", false), "SINGLE_NODE_WRITER");
  assert.equal(toMode("ReadWriteOncePod", false), "SINGLE_NODE_WRITER");
  assert.equal(toMode("ReadWriteOnce", true), "SINGLE_NODE_MULTI_WRITER");
  assert.equal(toMode("ReadWriteOncePod", true), "SINGLE_NODE_SINGLE_WRITER");
  assert.equal(toMode("ReadOnlyMany", true), "MULTI_NODE_READER_ONLY");
  assert.equal(toMode("ReadWriteMany", false), "MULTI_NODE_MULTI_WRITER");
  assert.equal(toMode("Nonsense", false), undefined);
});

test("one mode for a set of modes", () => {
  assert.deepEqual(chooseMode(["ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"], false), {
    mode: "MULTI_NODE_MULTI_WRITER",
  });
  assert.deepEqual(chooseMode(["ReadOnlyMany"], false), { mode: "MULTI_NODE_READER_ONLY" });
  for (const bad of [[], ["ReadOnlyMany", "ReadWriteOnce"], ["ReadWriteOncePod", "ReadWriteMany"], ["X"]])
    assert.ok("error" in chooseMode(bad, false), JSON.stringify(bad));
});
