import assert from "node:assert/strict";
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { type TestContext, test } from "node:test";
import { decideNode } from "./decide.ts";
import { attachmentName } from "./names.ts";

const VOLUMES = 30;
const PASSES = 20;
const { createHash } = crypto;

test("passes over a node make the name of each attachment once", (t) => {
  const handles = Array.from({ length: VOLUMES }, (_, index) => `counted-${index}`);
  const wanted = handles.map((handle) => ({ driver: "d", handle, volume: `pv-${handle}`, shared: false }));
  const view = { nodeName: "n", node: undefined, wanted, attachments: [], attachedElsewhere: () => [] };
  const hashes = countHashes(t);
  for (let pass = 0; pass < PASSES; pass++) assert.deepEqual(decideNode(view).create, wanted);
  assert.equal(hashes(), VOLUMES);
});

test("a remembered name is that of its volume, driver and node", () => {
  const hash = (of: string) => `csi-${createHash("sha256").update(of).digest("hex")}`;
  for (const _ of ["made", "remembered"]) {
    assert.equal(attachmentName("a", "d", "n"), hash("adn"));
    assert.equal(attachmentName("b", "d", "n"), hash("bdn"));
    assert.equal(attachmentName("a", "e", "n"), hash("aen"));
    assert.equal(attachmentName("a", "d", "m"), hash("adm"));
  }
});

test("names that were pushed out of memory are made again, and are the same", (t) => {
  const first = attachmentName("pushed-out", "d", "n");
  for (let other = 0; other < 10_000; other++) attachmentName(`other-${other}`, "d", "n");
  const hashes = countHashes(t);
  assert.equal(attachmentName("pushed-out", "d", "n"), first);
  assert.equal(hashes(), 1);
});

function countHashes(t: TestContext): () => number {
  const { mock } = t.mock.method(crypto, "createHash");
  syncBuiltinESMExports();
  t.after(() => {
    mock.restore();
    syncBuiltinESMExports();
  });
  return () => mock.callCount();
}
