import { statfs } from "node:fs/promises";

/** Bytes and inodes of the file system at a path. */
export interface FilesystemUsage {
  totalBytes: bigint;
  /** What an ordinary user can still write. */
  availableBytes: bigint;
  usedBytes: bigint;
  totalInodes: bigint;
  availableInodes: bigint;
  usedInodes: bigint;
}

export async function filesystemUsage(path: string): Promise<FilesystemUsage> {
  const s = await statfs(path, { bigint: true });
  return {
    totalBytes: s.blocks * s.bsize,
    availableBytes: s.bavail * s.bsize,
    usedBytes: (s.blocks - s.bfree) * s.bsize,
    totalInodes: s.files,
    availableInodes: s.ffree,
    usedInodes: s.files - s.ffree,
  };
}
