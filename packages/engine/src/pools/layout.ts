import { join } from "node:path";
import type { LocalPoolType } from "../api/pool.ts";

/** The lock file in the pool's folder: the process that has the pool open has its lock. */
export const LOCK_FILE = "lock";

/** Where the parts of a pool are below its folder. */
export interface PoolLayout {
  folder: string;
  lock: string;
  /** The sparse file with the pool's file system, and where that is mounted; absent for `directory`. */
  backing?: { file: string; mount: string };
  /** The folder that all nodes see, and where this node has it; absent for local pools. */
  shared?: { source: string; mount: string };
  /** Several nodes have the pool, with a lease for each image. */
  several: boolean;
  /** The images are in a storage cluster: `images` has the files of those that are open on this node, and no others. */
  remote?: true;
  images: string;
  /** btrfs: snapshots of `images` from which a group's images are being taken. */
  groupCopies: string;
}

/** Where a pool of this type has what below its folder. */
export function poolLayout(type: LocalPoolType, folder: string): PoolLayout {
  const lock = join(folder, LOCK_FILE);
  const several = false;
  if (type === "directory")
    return { folder, lock, several, images: join(folder, "images"), groupCopies: join(folder, "cuts") };
  const mount = join(folder, "mnt");
  return {
    folder,
    lock,
    several,
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
  return { folder, lock: join(folder, LOCK_FILE), several: true, shared: { source, mount }, ...parts };
}

/** This node's part of a pool in a Ceph cluster. */
export function rbdLayout(folder: string): PoolLayout {
  const images = join(folder, "images");
  const parts = { images, groupCopies: join(folder, "cuts") };
  return { folder, lock: join(folder, LOCK_FILE), several: true, remote: true, ...parts };
}
