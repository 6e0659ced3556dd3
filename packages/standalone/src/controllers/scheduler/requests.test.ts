import assert from "node:assert/strict";
import { test } from "node:test";
import { lacking } from "./requests.ts";

test("a resource that no node has is missing, also when it is called like a property of every object", () => {
  for (const name of ["example.com/gpu", "constructor", "__proto__"])
    assert.deepEqual(lacking(new Map([[name, 1n]]), new Map(), { cpu: "1" }), [`Insufficient ${name}`]);
  assert.deepEqual(lacking(new Map([["cpu", 1000n]]), new Map([["cpu", 0n]]), { cpu: "1" }), []);
});
