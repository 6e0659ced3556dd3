import { statfsSync } from "node:fs";
import { dirname } from "node:path";

/** The system's codes for "nothing more fits": the disk is full, or what this user may have of it. */
const FULL: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT"]);

/** Whether a write failed since its disk is full. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && FULL.has((error as NodeJS.ErrnoException).code);
}

/**
 * For what is removed behind something that is undone: an empty mount point, a record that says more than there is. The file
 * system of a disk that has failed keeps it, and that must keep nobody from undoing the rest. Throws other errors.
 */
export function unlessReadOnly(error: unknown): void {
  if (!(error instanceof Error && (error as NodeJS.ErrnoException).code === "EROFS")) throw error;
}

/** Whether the file system at a path has no place for a further file: then it may have any number of bytes free. */
export function isOutOfInodes(path: string): boolean {
  try {
    const { files, ffree } = statfsSync(dirname(path));
    return files > 0 && ffree === 0;
  } catch {
    return false;
  }
}

/**
 * The error of a file that was not written, with its path: write(2) names none. Of a full disk it says so in words; `hint` is
 * what an operator does then. Has the code of its cause.
 */
export function writeFailure(path: string, cause: unknown): unknown {
  if (!(cause instanceof Error)) return cause;
  const { code } = cause as NodeJS.ErrnoException;
  if (isDiskFull(cause)) {
    const folder = dirname(path);
    const [state, way] = isOutOfInodes(path)
      ? ["has no inodes left", `remove files from that disk (df -i ${folder})`]
      : ["is full", `make room on that disk (df -h ${folder}; df -i ${folder})`];
    const hint = `${way}, and do it again`;
    return Object.assign(new Error(`${path} cannot be written: its disk ${state} (${code})`, { cause }), {
      code,
      hint,
    });
  }
  if (cause.message.includes(path)) return cause;
  return Object.assign(new Error(`${path} cannot be written: ${cause.message}`, { cause }), { code });
}

/** Does what writes a file; throws {@link writeFailure}. */
export async function naming<T>(path: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw writeFailure(path, error);
  }
}
