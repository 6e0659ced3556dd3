import assert from "node:assert/strict";
import { test } from "node:test";
import { untilRetry } from "./attempts.ts";

const failedAt = "2026-05-04T12:00:00Z";

test("each failure doubles the time to the next attempt, up to a minute", () => {
  const left = (failures: number) => untilRetry({ failures, failedAt }, new Date(failedAt));
  assert.deepEqual([0, 1, 2, 3, 6, 7, 40].map(left), [0, 1_000, 2_000, 4_000, 32_000, 60_000, 60_000]);
  assert.equal(untilRetry({ failures: 3, failedAt }, new Date("2026-05-04T12:00:03Z")), 1_000);
  assert.equal(untilRetry({ failures: 3, failedAt }, new Date("2026-05-04T12:00:04Z")), 0);
});

test("a failure of a clock that has been set back since delays nothing", () => {
  for (const now of ["2026-05-04T11:00:00Z", "2025-05-04T12:00:00Z"])
    assert.equal(untilRetry({ failures: 40, failedAt }, new Date(now)), 0, now);
});
