import { statfs } from "node:fs/promises";

const BTRFS = 0x9123683e;

/**
 * Whether the file system of a folder takes new blocks for what is written over: a pool's file there is made without that (`+C`).
 * Else a full disk fails each write into the pool, also where it has its blocks, and XFS shuts down.
 */
export async function copiesOnWrite(folder: string): Promise<boolean> {
  return (await statfs(folder)).type === BTRFS;
}
