import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { absent } from "./file-images.ts";

/** Where pools are by default below a state folder. */
export function poolsFolder(stateDir: string): string {
  return join(stateDir, "pools");
}

/**
 * Has how far the store of a state folder has come. It is with the pools: they know of volumes that an older store does not.
 * No pool has such a name.
 */
export function newestRevisionFile(stateDir: string): string {
  return join(poolsFolder(stateDir), ".newest-revision");
}

/** A folder below the state folder that is a pool, whatever any record has of it; undefined when there is none. */
export async function poolBelow(stateDir: string): Promise<string | undefined> {
  for (const name of (await readdir(poolsFolder(stateDir)).catch(noFolder)) ?? [])
    if (await poolIsIn(stateDir, name)) return join(poolsFolder(stateDir), name);
  return undefined;
}

/** Whether the pool of this name is below the state folder. */
export async function poolIsIn(stateDir: string, name: string): Promise<boolean> {
  for (const part of ["pool.img", "images"])
    if ((await lstat(join(poolsFolder(stateDir), name, part)).catch(noFolder)) !== undefined) return true;
  return false;
}

/** What is no folder has no pool in it; who needs one there refuses it himself. */
function noFolder(error: unknown): undefined {
  if (error instanceof Error && "code" in error && error.code === "ENOTDIR") return undefined;
  return absent(error);
}
