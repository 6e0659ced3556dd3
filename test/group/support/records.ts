/**
 * What ordered writers write. Record `n` goes to volume 0, is made durable, then to volume 1, and so on; only then
 * does `n + 1` begin. Every volume keeps its last {@link SLOTS} records, so that a hole or a record from the future is
 * seen as well as a wrong order.
 */
export const RECORD_BYTES = 4096;
export const SLOTS = 256;
const HEADER = 16;
const MAGIC = 0x4d4f4f52;
const NOTHING = Buffer.alloc(RECORD_BYTES);

/** Byte offset of a record in its volume. */
export function offsetOf(sequence: number): number {
  return (sequence % SLOTS) * RECORD_BYTES;
}

/** A record no part of which can be exchanged unseen. Sequences begin with 1 and stay below 2^32. */
export function encode(volume: number, sequence: number): Buffer {
  const words = new Uint32Array(RECORD_BYTES / 4);
  words.set([MAGIC, volume, sequence]);
  for (let at = HEADER; at < RECORD_BYTES; at += 8) {
    words[at / 4] = Math.imul(sequence, 2_654_435_761) ^ at;
    words[at / 4 + 1] = Math.imul(volume + 1, 40_503) ^ sequence;
  }
  return Buffer.from(words.buffer);
}

/** Sequence of a record, 0 of a slot that was never written, undefined when it is neither. */
export function decode(volume: number, bytes: Buffer): number | undefined {
  if (bytes.equals(NOTHING)) return 0;
  if (bytes.length < RECORD_BYTES || bytes.readUInt32LE(0) !== MAGIC) return undefined;
  const sequence = bytes.readUInt32LE(8);
  return encode(volume, sequence).equals(bytes) ? sequence : undefined;
}

export interface SetResult {
  /** Last record of every volume. */
  last: number[];
  /** Empty: the set is a prefix of what was written, and nothing acknowledged is missing. */
  violations: string[];
}

/**
 * Evaluates one restored set: `volumes` in the order they are written in, each from offset 0. `acknowledged`: the last
 * record that was durable on all volumes before the snapshot was asked for.
 */
export function evaluate(volumes: readonly Buffer[], acknowledged: number): SetResult {
  const violations: string[] = [];
  const last = volumes.map((bytes, volume) => lastOf(volume, bytes, violations));
  for (const [volume, sequence] of last.entries()) {
    if (sequence < acknowledged)
      violations.push(`volume ${volume} ends at ${sequence}, ${acknowledged} was acknowledged`);
    const before = last[volume - 1];
    if (before !== undefined && sequence > before)
      violations.push(`volume ${volume} has ${sequence}, but volume ${volume - 1} only ${before}`);
  }
  const [first = 0] = last;
  const final = last.at(-1) ?? 0;
  if (first - final > 1) violations.push(`volume 0 has ${first}, the last volume only ${final}`);
  return { last, violations };
}

/** The last record of one volume; every slot has to have the latest record up to it that belongs there. */
function lastOf(volume: number, bytes: Buffer, violations: string[]): number {
  const found = Array.from({ length: SLOTS }, (_, slot) => {
    const sequence = decode(volume, bytes.subarray(slot * RECORD_BYTES, (slot + 1) * RECORD_BYTES));
    if (sequence === undefined) violations.push(`volume ${volume}, slot ${slot}: a torn record`);
    return sequence ?? 0;
  });
  const last = Math.max(...found);
  for (const [slot, sequence] of found.entries()) {
    const expected = latest(last, slot);
    if (sequence !== expected)
      violations.push(`volume ${volume}, slot ${slot}: ${sequence} where ${expected} should be`);
  }
  return last;
}

/** The largest sequence up to `last` that goes to this slot; 0 when there is none. */
function latest(last: number, slot: number): number {
  const sequence = last - ((last - slot + SLOTS) % SLOTS);
  return Math.max(sequence, 0);
}
