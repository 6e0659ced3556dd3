import assert from "node:assert/strict";
import { test } from "node:test";
import { Backoff } from "./backoff.ts";

test("back-off doubles up to the maximum and ends early only for another request", () => {
  let now = 0;
  const backoff = new Backoff({ startMs: 100, maxMs: 350, now: () => now });
  assert.equal(backoff.remaining("a", "q"), 0);
  assert.deepEqual(
    [1, 2, 3, 4].map(() => backoff.fail("a", "q")),
    [100, 200, 350, 350],
  );
  now = 300;
  assert.equal(backoff.remaining("a", "q"), 50);
  assert.equal(backoff.remaining("a", "other"), 0);
  assert.equal(backoff.remaining("b", "q"), 0);
  assert.equal(backoff.fail("a", "other"), 100);
  assert.equal(backoff.fail("a", "other", 5000), 5000);
  backoff.reset("a");
  assert.equal(backoff.remaining("a", "other"), 0);
  assert.equal(backoff.hasFailed("a", "other"), false);
});

test("a machine whose clock is set back waits no longer for that", () => {
  let now = 5 * 3_600_000;
  const backoff = new Backoff({ startMs: 1_000, maxMs: 300_000, now: () => now });
  backoff.fail("a", "q");
  backoff.fail("for good", "q", Number.POSITIVE_INFINITY);
  now = 0;
  assert.equal(backoff.remaining("a", "q"), 0);
  assert.equal(backoff.remaining("for good", "q"), Number.POSITIVE_INFINITY);
});
