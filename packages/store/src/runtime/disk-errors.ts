import { dirname } from "node:path";

/** The system's codes for "nothing more fits": the disk is full, or what this user may have of it. */
const FULL: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT"]);

/** Whether a write failed since its disk is full. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && FULL.has((error as NodeJS.ErrnoException).code);
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
    const hint = `make room on that disk (df -h ${folder}; df -i ${folder}), and do it again`;
    return Object.assign(new Error(`${path} cannot be written: its disk is full (${code})`, { cause }), {
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
