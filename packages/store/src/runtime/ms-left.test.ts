import assert from "node:assert/strict";
import { test } from "node:test";
import { msLeft } from "./ms-left.ts";

const YEAR = 365 * 24 * 3_600_000;

test("a wait ends after its time, and at once when the clock has been set back since it began", () => {
  const left = (now: number) => msLeft({ since: 10_000, forMs: 5_000, now });
  assert.deepEqual([10_000, 12_000, 15_000, 10_000 + YEAR].map(left), [5_000, 3_000, 0, 0]);
  // Another machine's clock is a little ahead.
  assert.equal(left(9_000), 6_000);
  assert.equal(left(4_999), 0);
  assert.equal(left(10_000 - YEAR), 0);
});

test("a wait without an end has none, and one without a length is over", () => {
  const forMs = Number.POSITIVE_INFINITY;
  assert.equal(msLeft({ since: 10_000, forMs, now: 10_000 - YEAR }), forMs);
  assert.equal(msLeft({ since: 10_000, forMs: 0, now: 9_999 }), 0);
});
