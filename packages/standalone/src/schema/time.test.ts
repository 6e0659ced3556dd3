import assert from "node:assert/strict";
import { test } from "node:test";
import { hasFormat } from "./formats.ts";
import { isDateTime, readTime } from "./time.ts";

const SECONDS = '" as "2006-01-02T15:04:05Z07:00": cannot parse ';
const MICROS = '" as "2006-01-02T15:04:05.000000Z07:00": cannot parse ';

/** What Go 1.26 makes of these, as `time.Parse` prints it after `parsing time "TEXT`. */
const TIMES: readonly [text: string, time: string][] = [
  ["2026-01-31T10:00:00Z", "2026-01-31T10:00:00Z"],
  ["2026-01-31T10:00:00.5Z", "2026-01-31T10:00:00Z"],
  ["2026-01-31T10:00:00,5Z", "2026-01-31T10:00:00Z"],
  ["2026-01-31T10:00:00.123456789123Z", "2026-01-31T10:00:00Z"],
  ["2026-01-31T1:00:00Z", "2026-01-31T01:00:00Z"],
  ["2024-02-29T10:00:00Z", "2024-02-29T10:00:00Z"],
  ["2026-01-31T10:00:00+24:00", "2026-01-30T10:00:00Z"],
  ["2026-01-31T10:00:00+02:60", "2026-01-31T07:00:00Z"],
  ["2026-01-31T10:00:00-00:30", "2026-01-31T10:30:00Z"],
  ["0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"],
  ["0099-12-31T23:59:59Z", "0099-12-31T23:59:59Z"],
];
const NO_TIMES: readonly [text: string, problem: string][] = [
  ["", `${SECONDS}"" as "2006"`],
  ["2026-01-31T10:00:00", `${SECONDS}"" as "Z07:00"`],
  ["2026-01-31t10:00:00Z", `${SECONDS}"t10:00:00Z" as "T"`],
  ["2026-01-31 10:00:00Z", `${SECONDS}" 10:00:00Z" as "T"`],
  ["2026-01-31T10:00:00z", `${SECONDS}"z" as "Z07:00"`],
  ["2026-01-31T10:00:00+0200", `${SECONDS}"+0200" as "Z07:00"`],
  ["2026-01-31T10:00:00.Z", `${SECONDS}".Z" as "Z07:00"`],
  ["2026-01-31T10:00Z", `${SECONDS}"Z" as ":"`],
  ["2026-1-31T10:00:00Z", `${SECONDS}"1-31T10:00:00Z" as "01"`],
  ["2026-02-30T10:00:00Z", '": day out of range'],
  ["2025-02-29T10:00:00Z", '": day out of range'],
  ["2026-01-00T10:00:00Z", '": day out of range'],
  ["2026-13-01T10:00:00Z", '": month out of range'],
  ["2026-01-31T24:00:00Z", '": hour out of range'],
  ["2026-01-31T10:60:00Z", '": minute out of range'],
  ["2026-01-31T23:59:60Z", '": second out of range'],
  ["2026-01-31T10:00:00+25:00", '": time zone offset hour out of range'],
  ["2026-01-31T10:00:00+02:61", '": time zone offset minute out of range'],
  ["2026-01-31T10:00:00Zx", '": extra text: "x"'],
];
const NO_MICROS: readonly [text: string, problem: string][] = [
  ["2026-01-31T10:00:00Z", `${MICROS}"Z" as ".000000"`],
  ["2026-01-31T10:00:00.5Z", `${MICROS}".5Z" as ".000000"`],
  ["2026-01-31T10:00:00.1234567Z", `${MICROS}"7Z" as "Z07:00"`],
];

test("times are read as Go reads them, and stored in UTC", () => {
  for (const [text, time] of TIMES) assert.deepEqual(readTime(text, "seconds"), { time }, text);
  const micros = readTime("2026-01-31T10:00:00.123456+02:00", "micros");
  assert.deepEqual(micros, { time: "2026-01-31T08:00:00.123456Z" });
});

test("what Go does not read is refused with its words", () => {
  for (const [text, problem] of NO_TIMES)
    assert.deepEqual(readTime(text, "seconds"), { problem: `parsing time "${text}${problem}` });
  for (const [text, problem] of NO_MICROS)
    assert.deepEqual(readTime(text, "micros"), { problem: `parsing time "${text}${problem}` });
  // Go writes it with five digits, and does not read that.
  assert.ok("problem" in readTime("9999-12-31T23:59:59-01:00", "seconds"));
});

test("the formats date and date-time of custom resources know the calendar", () => {
  for (const text of ["2026-01-31T10:00:00Z", "2026-01-31t10:00:00.5z", "2026-01-31T10:00:00+99:99"])
    assert.ok(isDateTime(text), text);
  for (const text of ["2026-01-31T10:00:00", "2026-02-30T10:00:00Z", "2026-01-31T24:00:00Z", "2026-01-31"])
    assert.ok(!isDateTime(text), text);
  assert.ok(hasFormat("date", "2024-02-29"));
  for (const text of ["2026-02-30", "2026-02-29", "2026-00-10", "2026-01-31T10:00:00Z"])
    assert.ok(!hasFormat("date", text), text);
});

test("the formats uuid3 to uuid5 say which version of a UUID it is", () => {
  const uuid = (version: string) => `12345678-1234-${version}234-8234-123456789abc`;
  for (const version of ["3", "4", "5"]) {
    assert.ok(hasFormat(`uuid${version}`, uuid(version)));
    assert.ok(!hasFormat(`uuid${version}`, uuid("1")));
  }
  assert.ok(!hasFormat("uuid4", "12345678-1234-4234-7234-123456789abc"));
  assert.ok(hasFormat("uuid", uuid("1").replaceAll("-", "").toUpperCase()));
});
