import { statfs } from "node:fs/promises";
import { EngineError } from "../../errors.ts";
import type { Exec } from "../host.ts";

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

/** Bytes and inodes of the file system that is mounted at `path` (`statfs`). */
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

/** Size of a block; then blocks: all, free, free to users; then inodes: all, free. */
const FORMAT = "%S %b %f %a %c %d";

/**
 * The same, read by a program of its own. A file system whose server is silent may block who reads it for ever: that takes
 * none of the few threads on which this process does all its file work. The signal ends the program, if it lets itself
 * be ended. Throws the EngineErrors of `Exec.run`.
 */
export async function filesystemUsageApart(
  exec: Exec,
  path: string,
  signal: AbortSignal,
): Promise<FilesystemUsage> {
  const args = ["--file-system", `--format=${FORMAT}`, "--", path];
  const { stdout } = await exec.run("stat", args, { signal });
  const numbers = stdout.trim().split(" ");
  if (numbers.length !== 6 || !numbers.every((number) => /^\d+$/.test(number))) {
    throw new EngineError("INTERNAL", `stat --file-system printed "${stdout.trim()}" of ${path}`);
  }
  const [size = 0n, blocks = 0n, free = 0n, available = 0n, inodes = 0n, freeInodes = 0n] =
    numbers.map(BigInt);
  return {
    totalBytes: blocks * size,
    availableBytes: available * size,
    usedBytes: (blocks - free) * size,
    totalInodes: inodes,
    availableInodes: freeInodes,
    usedInodes: inodes - freeInodes,
  };
}
