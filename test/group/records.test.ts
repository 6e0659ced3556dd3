import assert from "node:assert/strict";
import { test } from "node:test";
import { encode, evaluate, offsetOf, RECORD_BYTES, SLOTS } from "./support/records.ts";

/** A volume after records 1 to `last`. */
function volume(index: number, last: number): Buffer {
  const bytes = Buffer.alloc(SLOTS * RECORD_BYTES);
  for (let sequence = Math.max(1, last - SLOTS + 1); sequence <= last; sequence += 1)
    encode(index, sequence).copy(bytes, offsetOf(sequence));
  return bytes;
}
const set = (...last: number[]) => last.map((each, index) => volume(index, each));

test("a prefix is a prefix wherever it ends", () => {
  for (const last of [
    [0, 0],
    [1, 0],
    [5, 5, 5],
    [6, 5, 5],
    [6, 6, 5],
    [SLOTS, SLOTS - 1],
    [3 * SLOTS + 7, 3 * SLOTS + 7],
  ])
    assert.deepEqual(evaluate(set(...last), Math.min(...last)), { last, violations: [] });
});

test("a wrong order, a hole between volumes and a lost acknowledgement are seen", () => {
  const violation = (pattern: RegExp, volumes: Buffer[], acknowledged = 0) =>
    assert.match(evaluate(volumes, acknowledged).violations.join("; "), pattern);
  violation(/volume 1 has 7, but volume 0 only 6/, set(6, 7));
  violation(/volume 0 has 9, the last volume only 7/, set(9, 8, 7));
  violation(/volume 1 ends at 5, 6 was acknowledged/, set(6, 5), 6);
  violation(/volume 0 has 900, the last volume only 12/, set(900, 12));
});

test("a hole, a torn record, a record of another volume and one from the future are seen", () => {
  const spoiled = (spoil: (bytes: Buffer) => void) => {
    const volumes = set(SLOTS + 20, SLOTS + 20);
    spoil(volumes[1] ?? Buffer.alloc(0));
    return evaluate(volumes, 0).violations.join("; ");
  };
  assert.match(
    spoiled((bytes) => bytes.fill(0, offsetOf(9), offsetOf(10))),
    /slot 9: 0 where/,
  );
  assert.match(
    spoiled((bytes) => encode(1, 9).copy(bytes, offsetOf(9))),
    /slot 9: 9 where/,
  );
  assert.match(
    spoiled((bytes) => encode(0, SLOTS + 9).copy(bytes, offsetOf(9))),
    /slot 9: a torn record/,
  );
  const torn = (bytes: Buffer) => encode(1, 9).copy(bytes, offsetOf(9) + 512, 512);
  assert.match(spoiled(torn), /slot 9: a torn record/);
});
