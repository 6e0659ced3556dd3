import assert from "node:assert/strict";
import { test } from "node:test";
import { defined } from "./defined.ts";

test("what is undefined is left out, and every other value stays", () => {
  const fields = { a: undefined, b: null, c: 0, d: "", e: false };
  assert.deepEqual(Object.keys({ ...defined(fields) }), ["b", "c", "d", "e"]);
  assert.deepEqual({ kept: 1, ...defined({ kept: undefined }) }, { kept: 1 });
});
