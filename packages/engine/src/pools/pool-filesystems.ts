import { mkdir, stat } from "node:fs/promises";
import type { LocalPoolType } from "../api/pool.ts";
import type { Host } from "../host/host.ts";
import type { PoolFilesystem } from "./backing-file.ts";
import { absent } from "./file-images.ts";

/**
 * Sectors of 4096 bytes, because the pool's own loop device has them. `discard` gives removed images' space back to
 * the disk below; `nouuid` lets a copied state folder work beside its original.
 */
const XFS_POOL: PoolFilesystem = {
  type: "xfs",
  mkfs: { tool: "mkfs.xfs", args: ["-q", "-K", "-m", "reflink=1", "-s", "size=4096"] },
  mountOptions: ["noatime", "nouuid", "discard"],
  repair: (file) => `xfs_repair -f ${file}`,
  grow: async (host, mount) => {
    await host.exec.run("xfs_growfs", ["-d", mount], { uninterruptible: true });
  },
};

/** How the file system of a btrfs pool is made and mounted. */
const BTRFS_POOL: PoolFilesystem = {
  type: "btrfs",
  mkfs: { tool: "mkfs.btrfs", args: ["-q", "-K", "-s", "4096"] },
  mountOptions: ["noatime", "discard=async"],
  repair: (file) =>
    `btrfs rescue super-recover -y ${file}; where that is not enough: btrfs check --repair ${file}`,
  grow: async (host, mount) => {
    await host.exec.run("btrfs", ["filesystem", "resize", "max", mount], { uninterruptible: true });
  },
};

/** How a pool of each type begins. */
interface PoolStart {
  /** The file system in the pool's own file; absent: the pool is a folder of whatever is there. */
  filesystem?: PoolFilesystem;
  /** Makes the folder of the images where there is none. */
  makeImages(host: Host, path: string): Promise<void>;
}

/** By type: what a new type of pool needs besides its copier. */
export const POOL_STARTS: Readonly<Record<LocalPoolType, PoolStart>> = {
  xfs: { filesystem: XFS_POOL, makeImages: (_, path) => plainFolder(path) },
  btrfs: { filesystem: BTRFS_POOL, makeImages: imagesSubvolume },
  directory: { makeImages: (_, path) => plainFolder(path) },
};

/** The images folder of an XFS, directory or shared pool. What is there is not made: in a frozen pool that waits, too. */
export async function plainFolder(path: string): Promise<void> {
  if ((await stat(path).catch(absent)) === undefined) await mkdir(path, { recursive: true, mode: 0o700 });
}

/**
 * One subvolume for all images, so that one snapshot can copy them all, without copy-on-write (`+C`): with checksums
 * 4 KiB writes are eight times slower, and a clone's target must have the same attribute as its source (else EINVAL).
 * Every open sets the attribute where it is missing, since a kill may have come between the two commands.
 */
async function imagesSubvolume(host: Host, path: string): Promise<void> {
  if ((await stat(path).catch(absent)) === undefined) {
    await host.exec.run("btrfs", ["subvolume", "create", path]);
  }
  const { stdout } = await host.exec.run("lsattr", ["-d", path]);
  if (!/^\S*C/.test(stdout)) await host.exec.run("chattr", ["+C", path]);
}
