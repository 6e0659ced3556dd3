import { join } from "node:path";
import type { PoolType } from "../api/pool.ts";

/** Where the parts of a pool are below its folder. */
export interface PoolLayout {
  folder: string;
  lock: string;
  /** The sparse file with the pool's file system, and where that is mounted; absent for `directory`. */
  backing?: { file: string; mount: string };
  images: string;
  /** btrfs: snapshots of `images` from which a group's images are being taken. */
  cuts: string;
}

export function poolLayout(type: PoolType, folder: string): PoolLayout {
  const lock = join(folder, "lock");
  if (type === "directory")
    return { folder, lock, images: join(folder, "images"), cuts: join(folder, "cuts") };
  const mount = join(folder, "mnt");
  return {
    folder,
    lock,
    backing: { file: join(folder, "pool.img"), mount },
    images: join(mount, "images"),
    cuts: join(mount, "cuts"),
  };
}
