import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "./decide.ts";
import { on, ticket, view } from "./testing/build-view.ts";
import { nextWrite } from "./writes.ts";

test("a free volume is placed with the results of its tickets; from somebody it is taken only after them", () => {
  const free = view({ tickets: [ticket("c", "csi-attacher", "a")] });
  const write = nextWrite(free, decide(free));
  assert.equal(write?.do, "record-results");
  assert.equal(write?.do === "record-results" && write.volume?.spec.nodeID, "a");

  const left = view(on("a"));
  const taken = nextWrite(left, decide(left));
  assert.equal(taken?.do, "record-results");
  assert.equal(taken?.do === "record-results" && taken.volume, undefined);
});
