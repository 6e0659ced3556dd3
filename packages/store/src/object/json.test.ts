import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { cloneJson, sameJson } from "./json.ts";

test("a copy is the same and shares nothing, whatever its keys are", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const copy = cloneJson(value);
      assert.equal(JSON.stringify(copy), JSON.stringify(value));
      if (typeof value === "object" && value !== null) assert.notEqual(copy, value);
    }),
  );
  const odd = JSON.parse('{"__proto__":{"a":[1]},"constructor":{"b":2}}');
  const copy = cloneJson(odd);
  assert.equal(JSON.stringify(copy), JSON.stringify(odd));
  assert.equal(Object.getPrototypeOf(copy), Object.prototype);
  odd.constructor.b = 3;
  assert.equal(copy.constructor.b, 2);
});

test("values are the same when their JSON is", () => {
  const small = fc.jsonValue({ maxDepth: 2 });
  fc.assert(
    fc.property(small, small, (a, b) => {
      const same = isDeepStrictEqual(JSON.parse(JSON.stringify(a)), JSON.parse(JSON.stringify(b)));
      assert.equal(sameJson(a, b), same);
      assert.equal(sameJson(a, cloneJson(a)), true);
    }),
  );
  assert.equal(sameJson({ a: 1, b: undefined }, { a: 1 }), true);
  assert.equal(sameJson({ a: undefined }, { b: 1 }), false);
  assert.equal(sameJson({ a: 1 }, { a: 1, b: 1 }), false);
  assert.equal(sameJson([1], { 0: 1 }), false);
  assert.equal(sameJson({ toString: 1 }, {}), false);
});
