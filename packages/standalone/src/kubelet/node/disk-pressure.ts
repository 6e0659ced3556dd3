import { statfs } from "node:fs/promises";
import { Pools, poolNodes, spaceLow, writersHeldMessage } from "@mooring/engine";
import { describeBytes, isNotFound, type ObjectStore } from "@mooring/store";

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

/** Why what pods of this node write to may soon be full: the disk of the state, or a pool that is open here. */
export async function diskPressure(
  store: ObjectStore,
  { nodeName, folder }: { nodeName: string; folder: string },
): Promise<string | undefined> {
  const found = shortOf(folder, await statfs(folder));
  const why = found === undefined ? [] : [found];
  for (const pool of await poolsOf(store, nodeName)) {
    const low = spaceLow(pool);
    if (writersHeldMessage(pool) !== undefined) why.push(`pool ${pool.metadata.name} is full`);
    else if (low?.reason === "AlmostFull") why.push(`pool ${pool.metadata.name}: ${low.message}`);
  }
  return why.length === 0 ? undefined : why.join("; ");
}

async function poolsOf(store: ObjectStore, nodeName: string) {
  try {
    const { items } = await store.list(Pools);
    return items.filter((pool) => pool.status?.ready === true && poolNodes(pool).includes(nodeName));
  } catch (error) {
    // A kubelet beside other drivers alone.
    if (isNotFound(error)) return [];
    throw error;
  }
}
