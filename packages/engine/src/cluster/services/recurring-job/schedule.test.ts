import assert from "node:assert/strict";
import { test } from "node:test";
import { scheduleOf } from "./schedule.ts";

const at = (text: string) => new Date(text);

/** Cron, zone, since, now; due, missed, next. */
const ROWS: [string, string | undefined, string, string, string | undefined, number, string][] = [
  [
    "0 3 * * *",
    undefined,
    "2026-01-01T03:00:00Z",
    "2026-01-01T12:00:00Z",
    undefined,
    0,
    "2026-01-02T03:00:00.000Z",
  ],
  [
    "0 3 * * *",
    undefined,
    "2026-01-01T03:00:00Z",
    "2026-01-02T03:00:00Z",
    "2026-01-02T03:00:00.000Z",
    1,
    "2026-01-03T03:00:00.000Z",
  ],
  [
    "0 3 * * *",
    undefined,
    "2026-01-01T03:00:00Z",
    "2026-01-05T04:00:00Z",
    "2026-01-05T03:00:00.000Z",
    4,
    "2026-01-06T03:00:00.000Z",
  ],
  [
    "0 3 * * *",
    "Asia/Tokyo",
    "2026-01-01T00:00:00Z",
    "2026-01-01T18:00:00Z",
    "2026-01-01T18:00:00.000Z",
    1,
    "2026-01-02T18:00:00.000Z",
  ],
  // The clock goes forward at 02:00 and back at 03:00.
  [
    "30 2 * * *",
    "Europe/Berlin",
    "2026-03-28T12:00:00Z",
    "2026-03-29T12:00:00Z",
    "2026-03-29T01:00:00.000Z",
    1,
    "2026-03-30T00:30:00.000Z",
  ],
  [
    "30 2 * * *",
    "Europe/Berlin",
    "2026-10-24T12:00:00Z",
    "2026-10-25T12:00:00Z",
    "2026-10-25T00:30:00.000Z",
    1,
    "2026-10-26T01:30:00.000Z",
  ],
  [
    "@daily",
    undefined,
    "2026-01-01T12:00:00Z",
    "2026-01-01T13:00:00Z",
    undefined,
    0,
    "2026-01-02T00:00:00.000Z",
  ],
];

for (const [cron, timeZone, since, now, due, missed, next] of ROWS) {
  test(`${cron} ${timeZone ?? "UTC"}: from ${since} to ${now}, due ${due ?? "never"}`, () => {
    const spec = timeZone === undefined ? { cron } : { cron, timeZone };
    const schedule = scheduleOf(spec, at(since), at(now));
    assert.deepEqual([schedule.due, schedule.missed, schedule.next], [due, missed, next]);
  });
}

test("what cannot be read says why, and a long time away is counted up to a limit", () => {
  assert.match(
    scheduleOf({ cron: "61 * * * *" }, at("2026-01-01T00:00:00Z"), at("2026-01-02T00:00:00Z")).invalid ?? "",
    /minute: 61/,
  );
  const mars = scheduleOf(
    { cron: "@daily", timeZone: "Mars/X" },
    at("2026-01-01T00:00:00Z"),
    at("2026-01-02T00:00:00Z"),
  );
  assert.match(mars.invalid ?? "", /Mars/);
  const years = scheduleOf({ cron: "* * * * *" }, at("2024-01-01T00:00:00Z"), at("2026-01-01T00:00:30Z"));
  assert.deepEqual([years.due, years.missed], ["2026-01-01T00:00:00.000Z", 1000]);
});
