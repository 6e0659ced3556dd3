import { statfsSync } from "node:fs";
import { describeBytes } from "../object/describe-bytes.ts";

const MOST = 32 * 1024 ** 2;
const PART = 0.05;
/** It sets blocks aside for root. Of others more is free than anybody can have: btrfs counts what only metadata may take. */
const EXT = 0xef53;

/** What is left on the disk of a folder; bytes. */
export interface DiskRoom {
  folder: string;
  freeBytes: number;
  /** Nothing is stored while less than this is free. */
  reserveBytes: number;
}

/**
 * LMDB must never meet the end of a disk: a transaction that does not fit damages the memory of the process, which ends. File
 * systems keep some of what they report as free for themselves (ext4 2 %, at most 16 MiB); the rest of the reserve is for
 * what others write during a transaction.
 */
export function diskRoom(folder: string): DiskRoom {
  const { type, bavail, bfree, blocks, bsize } = statfsSync(folder);
  const free = process.getuid?.() === 0 && type === EXT ? bfree : bavail;
  return { folder, freeBytes: free * bsize, reserveBytes: Math.min(MOST, blocks * bsize * PART) };
}

/** Why nothing can be stored in a folder now, and what to do; undefined while there is room. */
export function diskFull({ folder, freeBytes, reserveBytes }: DiskRoom): string | undefined {
  if (freeBytes >= reserveBytes) return undefined;
  return `no space left on the disk of ${folder}: ${describeBytes(freeBytes)} are free and ${describeBytes(reserveBytes)} have to stay free; make room there (df -h ${folder}), and writes go on by themselves`;
}
