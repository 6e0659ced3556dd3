import { statfs } from "node:fs/promises";
import { firstOf } from "@mooring/store";

const POLL_MS = 200;
const LEAST_BYTES = 1024 ** 3;
/** Of small disks. */
const LEAST_SHARE = 0.05;
/** Files count as well: each takes one of a fixed number on most file systems. */
const LEAST_FILES_SHARE = 0.02;

/** What a file system has, and what of it is free besides root's reserve. */
export interface DiskRoom {
  bytes: number;
  freeBytes: number;
  /** 0 where files are made as needed. */
  files: number;
  freeFiles: number;
}

async function roomOf(folder: string): Promise<DiskRoom> {
  const { bsize, blocks, bavail, files, ffree } = await statfs(folder);
  return { bytes: blocks * bsize, freeBytes: bavail * bsize, files, freeFiles: ffree };
}

/**
 * Does work that fills the folder by what untrusted sources say, such as a layer of some bytes that unpacks to terabytes. The
 * work's signal aborts, and its error says why, when the disk would have less left than 1 GiB (of a disk below 20 GiB a
 * twentieth): volumes and the state are on it as well.
 */
export async function whileRoom<T>(
  folder: string,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
  room: (folder: string) => Promise<DiskRoom> = roomOf,
): Promise<T> {
  const full = new AbortController();
  const check = async () => {
    const missing = shortage(await room(folder));
    if (missing !== undefined) full.abort(new Error(`the disk of ${folder} has ${missing} left`));
  };
  await check();
  const timer = setInterval(() => void check().catch(() => {}), POLL_MS);
  try {
    full.signal.throwIfAborted();
    return await firstOf([signal, full.signal], work);
  } catch (error) {
    throw full.signal.aborted ? full.signal.reason : error;
  } finally {
    clearInterval(timer);
  }
}

function shortage({ bytes, freeBytes, files, freeFiles }: DiskRoom): string | undefined {
  if (freeBytes < Math.min(LEAST_BYTES, bytes * LEAST_SHARE))
    return `no more than ${Math.floor(freeBytes / 2 ** 20)} MiB`;
  if (freeFiles < files * LEAST_FILES_SHARE) return `room for no more than ${freeFiles} files`;
  return undefined;
}
