import { statfsSync } from "node:fs";

const MOST = 32 * 1024 ** 2;
const PART = 0.05;

/**
 * So little is left on the disk of a folder that nothing more is stored there. LMDB must never meet the end of a disk: a
 * transaction that does not fit damages the memory of the process, which ends. File systems keep some of what they report as
 * free for themselves (ext4 2 %, at most 16 MiB); the rest of the margin is for what others write during a transaction.
 */
export function isDiskFull(folder: string): boolean {
  const { bavail, bfree, blocks, bsize } = statfsSync(folder);
  const free = process.getuid?.() === 0 ? bfree : bavail;
  return free * bsize < Math.min(MOST, blocks * bsize * PART);
}

/** As the system reports it. */
export function diskFull(): Error {
  return Object.assign(new Error("no space left on device"), { code: 28 });
}
