/** File systems that volumes may have. */
export type FilesystemType = "ext4" | "xfs" | "btrfs";

/** The file systems that volumes can have; the first is the default. */
export const FILESYSTEM_TYPES: readonly FilesystemType[] = ["ext4", "xfs", "btrfs"];

interface FilesystemTraits {
  mkfs: { tool: string; args: readonly string[] };
  /** Bytes below which mkfs refuses. */
  minimumBytes: number;
  /** Options that every mount of this type gets. */
  mountOptions: readonly string[];
}

/**
 * No mkfs discards: that would throw away what a pre-allocated image has reserved. ext4 leaves journal and inode
 * tables to be zeroed later (a sparse image reads as zeros already) and is given its block size, because it picks 1 KiB
 * for small volumes, less than the 4 KiB sectors of our devices. XFS clones share their origin's UUID, so every XFS
 * mount has `nouuid`; UUIDs are never changed.
 */
export const FILESYSTEMS: Readonly<Record<FilesystemType, FilesystemTraits>> = {
  ext4: {
    mkfs: {
      tool: "mkfs.ext4",
      args: ["-q", "-b", "4096", "-m", "0", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1"],
    },
    minimumBytes: 2 * 1024 ** 2,
    mountOptions: [],
  },
  xfs: {
    mkfs: { tool: "mkfs.xfs", args: ["-q", "-K"] },
    minimumBytes: 300 * 1024 ** 2,
    mountOptions: ["nouuid"],
  },
  btrfs: {
    mkfs: { tool: "mkfs.btrfs", args: ["-q", "-K"] },
    minimumBytes: 114_294_784,
    mountOptions: [],
  },
};
