import { statfs } from "node:fs/promises";
import { describeBytes } from "@mooring/store";

/** Parts of the disk, and of its files, that are free when it is under pressure. */
const LEAST = 0.05;

/** What a file system has, as statfs(2) gives it. */
export interface FileSystemRoom {
  bsize: number;
  blocks: number;
  bfree: number;
  bavail: number;
  /** 0 where files are made as needed. */
  files: number;
  ffree: number;
}

/** Why a disk is short of room; undefined while it is not. As `df` counts: what only root may take is in neither part. */
export function shortOf(
  folder: string,
  { bsize, blocks, bfree, bavail, files, ffree }: FileSystemRoom,
): string | undefined {
  const [free, used] = [bavail * bsize, (blocks - bfree) * bsize];
  if (free < (free + used) * LEAST) return `the disk of ${folder} has ${describeBytes(free)} free`;
  if (ffree < files * LEAST) return `the disk of ${folder} has room for ${ffree} more files`;
  return undefined;
}

/**
 * Why the disk of the state, with the logs of pods and their `emptyDir`, may soon be full. The pool itself reports its own
 * disk: a pod that deletes files there has to find a node.
 */
export async function diskPressure(folder: string): Promise<string | undefined> {
  return shortOf(folder, await statfs(folder));
}
