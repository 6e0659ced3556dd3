import { appendFile, readFile, rename, stat, writeFile } from "node:fs/promises";
import { nextSlice, sliceLasts } from "@mooring/store";
import { logBegin, noteBegin, trimLog, type WhileStill } from "./log-limit.ts";
import { readEnd } from "./start-error.ts";
import { whileChanging } from "./while-changing.ts";

/**
 * When the bytes of a log were written. Containers write straight into their log files, so that no process in between
 * can lose a line or delay them; the times are kept beside it: one line `offset time` means that everything before
 * `offset` was there at `time`.
 */
export interface Stamp {
  offset: number;
  /** Milliseconds since 1970. */
  time: number;
}

/** Some hours of a container that never rests, then every second stamp of a log goes. */
const MOST_STAMPS = 16_384;

const stampsFile = (logFile: string): string => `${logFile}.times`;

/** The stamps of a log, oldest first; none where the log has none. A line that a crash has left incomplete is left out. */
export async function readStamps(logFile: string): Promise<Stamp[]> {
  return parse(await readFile(stampsFile(logFile), "utf8").catch(() => ""));
}

/** Of the stamps, what is read for one that is newer than those that were read before. */
const LATEST_BYTES = 16 * 1024;

/** The stamps behind an offset. Who follows a log asks for each piece of it, and reads no more than the last ones. */
export async function stampsAfter(logFile: string, offset: number): Promise<Stamp[]> {
  const end = await readEnd(stampsFile(logFile), LATEST_BYTES).catch(() => "");
  // Where it begins may be within a line.
  const latest = await parse(end.slice(end.indexOf("\n") + 1));
  const [first] = latest;
  const all = first !== undefined && first.offset <= offset ? latest : await readStamps(logFile);
  return all.filter((stamp) => stamp.offset > offset);
}

async function parse(text: string): Promise<Stamp[]> {
  const stamps: Stamp[] = [];
  for (let from = 0, end = text.indexOf("\n"); end >= 0; from = end + 1, end = text.indexOf("\n", from)) {
    const [offset, time, ...more] = text.slice(from, end).split(" ");
    const stamp = { offset: Number(offset), time: Date.parse(time ?? "") };
    if (more.length === 0 && Number.isFinite(stamp.offset) && Number.isFinite(stamp.time)) stamps.push(stamp);
    // There may be thousands, and many clients.
    if (stamps.length % 256 === 0 && !sliceLasts()) await nextSlice();
  }
  return stamps;
}

/**
 * Keeps the stamps of one log, and the log to its limit, until the returned function is called; that writes the last one. The
 * container has the file open, and may do anything with it.
 */
export async function keepStamps(logFile: string, whileStill: WhileStill): Promise<() => Promise<void>> {
  const stamps = await readStamps(logFile);
  let last = stamps.at(-1)?.offset ?? 0;
  let count = stamps.length;
  let begin = await logBegin(logFile);

  async function stamp(): Promise<void> {
    const info = await stat(logFile).catch(() => undefined);
    if (info === undefined) return;
    if (info.size < last) await startAgain(info.size);
    begin = await trimLog(logFile, info, { begin, whileStill }).catch(() => begin);
    if (info.size <= last) return;
    last = info.size;
    // The time of the write, not of this read: what was written while the kubelet did not read gets a time that is right too.
    await appendFile(stampsFile(logFile), `${info.size} ${info.mtime.toISOString()}\n`).catch(() => {});
    count += 1;
    if (count > MOST_STAMPS) count = await thinOut(logFile, begin).catch(() => count);
  }

  /** It was truncated: what is written from now on is where something else was. */
  async function startAgain(size: number): Promise<void> {
    last = size;
    begin = Math.min(begin, size);
    await noteBegin(logFile, begin).catch(() => {});
    count = await rewrite(
      logFile,
      (await readStamps(logFile)).filter(({ offset }) => offset <= size),
    );
  }

  return whileChanging(logFile, stamp);
}

/** A line gets a time that is less exact, and none gets an earlier one. */
async function thinOut(logFile: string, begin: number): Promise<number> {
  const stamps = (await readStamps(logFile)).filter(({ offset }) => offset > begin);
  return rewrite(
    logFile,
    stamps.filter((_, index) => (stamps.length - index) % 2 === 1),
  );
}

async function rewrite(logFile: string, stamps: readonly Stamp[]): Promise<number> {
  const lines = stamps.map(({ offset, time }) => `${offset} ${new Date(time).toISOString()}\n`);
  await writeFile(`${stampsFile(logFile)}.new`, lines.join(""));
  await rename(`${stampsFile(logFile)}.new`, stampsFile(logFile));
  return stamps.length;
}

/** When the byte before `end` was written; undefined when the kubelet has not noted it yet. */
export function timeOf(stamps: readonly Stamp[], end: number): number | undefined {
  return stamps[indexOf(stamps, end)]?.time;
}

/**
 * The same for ends of which none is before the last one: each stamp is passed once, and is one text for all of its bytes, as a
 * log may be nothing but ends of lines.
 */
export function timesFrom(stamps: readonly Stamp[], begin: number): (end: number) => Uint8Array {
  const now = Date.now();
  let index = indexOf(stamps, begin + 1);
  let text = textOf(stamps[index]?.time ?? now);
  return (end) => {
    const before = index;
    while ((stamps[index]?.offset ?? end) < end) index += 1;
    if (index !== before) text = textOf(stamps[index]?.time ?? now);
    return text;
  };
}

const textOf = (time: number) => Buffer.from(`${new Date(time).toISOString()} `);
const indexOf = (stamps: readonly Stamp[], end: number) =>
  firstAtOrAfter(stamps, (stamp) => stamp.offset >= end);

/** Where the log of the time from `since` on begins. */
export function offsetSince(stamps: readonly Stamp[], since: number): number {
  const index = firstAtOrAfter(stamps, (stamp) => stamp.time >= since);
  return stamps[index - 1]?.offset ?? 0;
}

function firstAtOrAfter(stamps: readonly Stamp[], test: (stamp: Stamp) => boolean): number {
  let [low, high] = [0, stamps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const stamp = stamps[middle];
    if (stamp !== undefined && test(stamp)) high = middle;
    else low = middle + 1;
  }
  return low;
}
