/** File systems that a volume can be made with. */
export type FsType = "ext4" | "xfs" | "btrfs";

interface FsRules {
  /** Smallest volume that its mkfs accepts and that is worth having, in bytes. */
  minimumBytes: bigint;
}

const MIB = 1024n * 1024n;

/** mkfs.xfs refuses less than 300 MiB, mkfs.btrfs less than 109 MiB. */
export const FILE_SYSTEMS: Readonly<Record<FsType, FsRules>> = {
  ext4: { minimumBytes: 8n * MIB },
  xfs: { minimumBytes: 300n * MIB },
  btrfs: { minimumBytes: 128n * MIB },
};

/** The smallest of all: what a mount capability without a file system needs at least. */
export const SMALLEST_FS: FsType = "ext4";

/**
 * Made when a mount capability names no file system: XFS, because it grows while mounted on every kernel and with every
 * set of capabilities; ext4 for volumes that are too small for XFS.
 */
export function defaultFs(size: bigint): FsType {
  return size >= FILE_SYSTEMS.xfs.minimumBytes ? "xfs" : SMALLEST_FS;
}

/** True for the file systems that the driver can make. */
export function isFsType(name: string): name is FsType {
  return Object.hasOwn(FILE_SYSTEMS, name);
}
