import { EXIT } from "../output/exit-codes.ts";
import { describeError } from "../output/report-error.ts";
import { type Check, check } from "./check.ts";

/** What gives a machine without /proc its own back. */
export const MOUNT_PROC = "mount -t proc proc /proc";

/** The checks, or why they could not be made. An error that we did not foresee stays one. */
export async function checksOrFailure(what: string, checks: Promise<Check[]>): Promise<Check[]> {
  return checks.catch((error: unknown) => {
    const { message, next, exitCode } = describeError(error);
    const hint = isWithoutProc(error) ? MOUNT_PROC : next;
    if (exitCode === EXIT.internal && !isWithoutProc(error)) throw error;
    return [check(what, "fail", `cannot be checked: ${message}`, hint)];
  });
}

/** Mounts and processes are read there. */
function isWithoutProc(error: unknown): boolean {
  const { code, path } = error as NodeJS.ErrnoException;
  return code === "ENOENT" && /^\/proc\/(self\/)?[a-z]/.test(path ?? "");
}
