import { stat, statfs } from "node:fs/promises";
import type { LocalPoolType } from "../api/pool.ts";
import type { Host } from "../host/host.ts";
import { btrfsFree } from "./btrfs-room.ts";
import { absent } from "./file-images.ts";
import type { PoolLayout } from "./layout.ts";
import type { PoolRoom } from "./medium.ts";

/** What the pool's file system reports, or what the disk below has left for the pool's sparse file if that is less. */
export async function poolRoom(host: Host, layout: PoolLayout, type: LocalPoolType): Promise<PoolRoom> {
  const [inside, below, file] = await Promise.all([
    statfs(layout.images),
    statfs(layout.folder),
    layout.backing === undefined ? undefined : stat(layout.backing.file).catch(absent),
  ]);
  const totalBytes = inside.blocks * inside.bsize;
  const exact = type === "btrfs" ? await btrfsFree(host, layout.backing?.mount, totalBytes) : undefined;
  const free = exact ?? inside.bavail * inside.bsize;
  const belowFree = below.bavail * below.bsize;
  const missing = file === undefined ? Number.POSITIVE_INFINITY : file.size - file.blocks * 512;
  if (belowFree >= missing || belowFree >= free) return { totalBytes, freeBytes: free };
  return { totalBytes, freeBytes: belowFree, ...(layout.backing && { disk: layout.folder }) };
}
