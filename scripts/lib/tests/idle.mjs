import { readFile } from "node:fs/promises";

/**
 * A function that resolves with the share of all processors, from 0 to 1, that had nothing to do since it was called last;
 * that they waited for a disk counts as nothing to do.
 */
export function idleProcessors() {
  let last = { idle: 0, all: 0 };
  return async () => {
    const now = await ticks();
    const share = (now.idle - last.idle) / Math.max(now.all - last.all, 1);
    const isFirst = last.all === 0;
    last = now;
    return isFirst ? 0 : share;
  };
}

async function ticks() {
  const [line] = (await readFile("/proc/stat", "utf8")).split("\n");
  // user, nice, system, idle, waiting for disks, and others; guests are in the first two.
  const counts = line.split(/\s+/).slice(1, 9).map(Number);
  return { idle: counts[3] + counts[4], all: counts.reduce((sum, count) => sum + count, 0) };
}
