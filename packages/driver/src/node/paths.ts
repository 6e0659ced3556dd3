import { lstat, mkdir, open, readdir, rmdir, unlink } from "node:fs/promises";
import { normalize } from "node:path";
import { CsiError } from "@mooring/csi";

const SYSTEM = new Set([
  "/",
  "/bin",
  "/boot",
  "/dev",
  "/etc",
  "/home",
  "/lib",
  "/proc",
  "/root",
  "/run",
  "/sbin",
  "/sys",
  "/tmp",
  "/usr",
  "/var",
]);

/** An absolute path in its shortest form: no `..`, no NUL, and none of the directories that a system is made of. */
export function parsePath(path: string, field: string): string {
  if (path === "") throw CsiError.invalidArgument(`${field} is required`);
  const clean = path.length > 1 ? path.replace(/\/+$/, "") : path;
  if (!clean.startsWith("/") || clean.includes("\0") || normalize(clean) !== clean) {
    throw CsiError.invalidArgument(`${field} must be an absolute path without ".", ".." or empty parts`);
  }
  if (SYSTEM.has(clean)) throw CsiError.invalidArgument(`${field} "${clean}" is no place for a volume`);
  return clean;
}

type Kind = "directory" | "file" | "missing" | "other";

/** What is at a path; a link is not followed. */
export async function kindOf(path: string): Promise<Kind> {
  try {
    const info = await lstat(path);
    if (info.isDirectory()) return "directory";
    return info.isFile() ? "file" : "other";
  } catch (error) {
    if (codeOf(error) === "ENOENT") return "missing";
    throw unusable(path, error);
  }
}

/**
 * Makes the mount point with mode 0, so that nothing can be written beneath a mount that is not there. The parent is
 * the caller's. Something of the right kind that is there already is used as it is.
 */
export async function makeTarget(path: string, kind: "directory" | "file"): Promise<void> {
  try {
    if (kind === "directory") await mkdir(path, { mode: 0 });
    else await (await open(path, "wx", 0)).close();
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw unusable(path, error);
    const present = await kindOf(path);
    if (present === kind) return;
    throw CsiError.failedPrecondition(`${path} is there already, but is no ${kind}`);
  }
}

/** Removes a mount point that we made. Never anything inside: what is there was written by somebody. */
export async function removeTarget(path: string): Promise<void> {
  const kind = await kindOf(path);
  if (kind === "missing") return;
  try {
    if (kind === "directory") await rmdir(path);
    else if (kind === "file") await unlink(path);
    else throw CsiError.failedPrecondition(`${path} is neither a directory nor a file; it is left alone`);
  } catch (error) {
    if (codeOf(error) !== "ENOTEMPTY") throw error;
    const entries = (await readdir(path)).slice(0, 5).join(", ");
    throw CsiError.failedPrecondition(`${path} is not empty after unmounting: ${entries}`, {
      hint: "Something wrote beneath the mount. Move it away; the call can then be repeated.",
    });
  }
}

/** A file of the caller's that cannot be used is the caller's to fix. */
function unusable(path: string, error: unknown): CsiError {
  const reason = error instanceof Error ? error.message : String(error);
  return CsiError.failedPrecondition(`cannot use ${path}: ${reason}`, {
    hint: "The parent directory has to exist and to be writable.",
    cause: error,
  });
}

/** The code of a failed system call, as `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code;
}
