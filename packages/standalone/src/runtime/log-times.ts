import { readStamps, stampsAfter, timeOf, timesFrom } from "./log-stamps.ts";

/** What is kept of a line whose end is not there yet. */
const LONGEST_LINE = 64 * 1024;
/** `2026-01-01T00:00:00.000Z ` */
const PREFIX = 25;
const NEWLINE = 0x0a;

/**
 * Puts each line's time before it. `start`: where in the log the first byte is. The times are read again for a piece that is newer
 * than they are, and not for each line of it.
 */
export async function* withTimes(
  raw: AsyncIterable<Uint8Array>,
  logFile: string,
  start: number,
): AsyncGenerator<Uint8Array> {
  let stamps = await readStamps(logFile);
  let rest: Uint8Array = Buffer.alloc(0);
  let offset = start;
  let inLine = false;
  for await (const chunk of raw) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    // A line has the time of its end, so one without an end waits for it.
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    const ready = bytes.length - end > LONGEST_LINE ? bytes.length : end;
    rest = bytes.subarray(ready);
    if (ready === 0) continue;
    if (timeOf(stamps, offset + ready) === undefined) stamps = await stampsAfter(logFile, offset);
    yield timed(bytes.subarray(0, ready), { offset, inLine, timeAt: timesFrom(stamps, offset) });
    offset += ready;
    inLine = ready > end;
  }
  if (rest.length === 0) return;
  yield timed(rest, { offset, inLine, timeAt: timesFrom(await stampsAfter(logFile, offset), offset) });
}

interface Piece {
  /** In the log, of the first byte. */
  offset: number;
  /** It begins within a line. */
  inLine: boolean;
  /** Of the byte before. */
  timeAt(end: number): Uint8Array;
}

function timed(bytes: Uint8Array, { offset, inLine, timeAt }: Piece): Uint8Array {
  const timed = Buffer.allocUnsafe(bytes.length + PREFIX * linesIn(bytes));
  let length = 0;
  for (let from = 0; from < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, from);
    const end = newline < 0 ? bytes.length : newline + 1;
    if (from > 0 || !inLine) {
      timed.set(timeAt(offset + end), length);
      length += PREFIX;
    }
    timed.set(bytes.subarray(from, end), length);
    length += end - from;
    from = end;
  }
  return timed.subarray(0, length);
}

/** One more for what comes after the last end. */
function linesIn(bytes: Uint8Array): number {
  let count = 1;
  for (const byte of bytes) if (byte === NEWLINE) count += 1;
  return count;
}
