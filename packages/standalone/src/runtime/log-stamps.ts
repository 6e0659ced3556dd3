import { watch } from "node:fs";
import { appendFile, readFile, stat } from "node:fs/promises";
import { logBegin, trimLog } from "./log-limit.ts";

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

/** At most so many stamps a second, however fast a container writes. */
const INTERVAL_MS = 50;

const stampsFile = (logFile: string): string => `${logFile}.times`;

/** The stamps of a log, oldest first; none where the log has none. A line that was cut off by a crash is left out. */
export async function readStamps(logFile: string): Promise<Stamp[]> {
  const text = await readFile(stampsFile(logFile), "utf8").catch(() => "");
  return text
    .split("\n")
    .map((line) => line.split(" "))
    .filter((words) => words.length === 2)
    .map(([offset, time]) => ({ offset: Number(offset), time: Date.parse(time ?? "") }))
    .filter((stamp) => Number.isFinite(stamp.offset) && Number.isFinite(stamp.time));
}

/** Keeps the stamps of one log until the returned function is called; that writes the last one. */
export async function keepStamps(logFile: string): Promise<() => Promise<void>> {
  let last = (await readStamps(logFile)).at(-1)?.offset ?? 0;
  let begin = await logBegin(logFile);
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  async function stamp(): Promise<void> {
    const info = await stat(logFile).catch(() => undefined);
    if (info === undefined || info.size <= last) return;
    last = info.size;
    begin = await trimLog(logFile, info.size, begin).catch(() => begin);
    // The time of the write, not of this read: what was written while nobody read gets a time that is right too.
    await appendFile(stampsFile(logFile), `${info.size} ${info.mtime.toISOString()}\n`).catch(() => {});
  }
  const now = () => {
    running = (running ?? Promise.resolve()).then(stamp);
    return running;
  };
  const soon = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      void now();
    }, INTERVAL_MS).unref();
  };
  const watcher = watch(logFile, { persistent: false }, soon);
  watcher.on("error", () => watcher.close());
  await now();
  return async () => {
    watcher.close();
    clearTimeout(timer);
    await now();
  };
}

/** When the byte before `end` was written; undefined when nobody has noted it yet. */
export function timeOf(stamps: readonly Stamp[], end: number): number | undefined {
  return stamps[firstAtOrAfter(stamps, (stamp) => stamp.offset >= end)]?.time;
}

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
