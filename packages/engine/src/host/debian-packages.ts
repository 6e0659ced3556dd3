/** The Debian (and Ubuntu) package that has a tool: the error about a missing one names what to install. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  xfsprogs: ["mkfs.xfs", "xfs_growfs", "xfs_info", "xfs_repair", "xfs_io"],
  "btrfs-progs": ["mkfs.btrfs", "btrfs", "btrfstune"],
  e2fsprogs: ["mkfs.ext4", "resize2fs", "e2fsck", "dumpe2fs", "chattr", "lsattr", "tune2fs", "filefrag"],
  "util-linux": [
    "losetup",
    "blkid",
    "fsfreeze",
    "flock",
    "blockdev",
    "blkdiscard",
    "fallocate",
    "fstrim",
    "unshare",
    "nsenter",
  ],
  mount: ["mount", "umount"],
  "nfs-ganesha-vfs": ["ganesha.nfsd"],
  skopeo: ["skopeo"],
  umoci: ["umoci"],
  "nfs-common": ["mount.nfs4", "mount.nfs"],
  "ceph-common": ["rbd", "ceph"],
  "qemu-system-common": ["qemu-storage-daemon"],
  kmod: ["modprobe"],
  "perl-base": ["perl"],
  coreutils: ["truncate", "cp", "dd", "nice", "stat", "sync", "timeout", "cat", "rm"],
};

/** The package of a tool, by its file name. */
export function debianPackageOf(tool: string): string | undefined {
  const name = tool.slice(tool.lastIndexOf("/") + 1);
  return Object.keys(PACKAGES).find((pkg) => PACKAGES[pkg]?.includes(name));
}
