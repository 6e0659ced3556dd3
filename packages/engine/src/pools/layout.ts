import { join } from "node:path";
import type { PoolType } from "../api/pool.ts";

/** Where the parts of a pool are below its folder. */
export interface PoolLayout {
  folder: string;
  lock: string;
  /** The sparse file with the pool's file system, and where that is mounted; absent for `directory`. */
  backing?: { file: string; mount: string };
  /** The folder that all nodes see, and where this node has it; absent for local pools. */
  shared?: { source: string; mount: string };
  images: string;
  /** btrfs: snapshots of `images` from which a group's images are being taken. */
  groupCopies: string;
}

/** Where a pool of this type has what below its folder. */
export function poolLayout(type: PoolType, folder: string): PoolLayout {
  const lock = join(folder, "lock");
  if (type === "directory")
    return { folder, lock, images: join(folder, "images"), groupCopies: join(folder, "cuts") };
  const mount = join(folder, "mnt");
  return {
    folder,
    lock,
    backing: { file: join(folder, "pool.img"), mount },
    images: join(mount, "images"),
    groupCopies: join(mount, "cuts"),
  };
}

/**
 * A shared pool, seen through a bind mount below this node's own state folder: paths of images, and so those of loop
 * devices, are then different on every node, also where two nodes have one kernel.
 */
export function sharedLayout(folder: string, source: string): PoolLayout {
  const mount = join(folder, "mnt");
  const parts = { images: join(mount, "images"), groupCopies: join(mount, "cuts") };
  return { folder, lock: join(folder, "lock"), shared: { source, mount }, ...parts };
}
