import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isNewerVersion } from "./version.ts";

test("resource versions are compared as the numbers that they are", () => {
  const version = fc.bigInt({ min: 0n, max: 2n ** 70n });
  fc.assert(
    fc.property(version, version, (a, b) => {
      assert.equal(isNewerVersion(String(a), String(b)), a > b);
    }),
  );
});

test("what is no number is not compared", () => {
  for (const odd of ["", "x", "1x", "-1", "1.5", "007", " 1", "١"]) {
    assert.equal(isNewerVersion(odd, "1"), undefined);
    assert.equal(isNewerVersion("1", odd), undefined);
  }
});
