import assert from "node:assert/strict";
import { test } from "node:test";
import { parseImageFeatures } from "./image-features.ts";

test("features of an image are read as ceph-csi's, in any order", () => {
  assert.deepEqual(parseImageFeatures("exclusive-lock,layering"), ["layering", "exclusive-lock"]);
  const all = ["layering", "exclusive-lock", "object-map", "fast-diff", "deep-flatten"];
  assert.deepEqual(parseImageFeatures([...all].reverse().join(", ")), all);
});

test("features that no image may have, or may not lack, are refused with why", () => {
  const wrong: [string, RegExp][] = [
    ["layering", /lacks exclusive-lock, and a lost node is shut out/],
    ["exclusive-lock", /lacks layering, and snapshots/],
    ["layering,exclusive-lock,fast-diff", /fast-diff needs object-map/],
    ["layering,exclusive-lock,object-map,journaling", /for journaling: the kernel's client/],
    ["layering,exclusive-lock,data-pool", /for data-pool/],
    ["layering,layering,exclusive-lock", /has layering twice/],
    ["layering,Exclusive-Lock", /for "Exclusive-Lock": known are layering/],
    ["layering,exclusive-lock,", /for ""/],
    ["", /for ""/],
    ["toString,layering,exclusive-lock", /for "toString"/],
  ];
  for (const [text, why] of wrong) {
    const parsed = parseImageFeatures(text);
    assert.ok(!Array.isArray(parsed), text);
    assert.match(parsed.wrong, why, text);
  }
});
