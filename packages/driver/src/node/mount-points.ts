import { lstat, mkdir, open, readdir, rmdir, unlink } from "node:fs/promises";
import { basename, normalize } from "node:path";
import { CsiError } from "@mooring/csi";
import type { MountEntry } from "@mooring/engine";
import { unlessReadOnly } from "@mooring/store";
import { codeOf } from "../errors.ts";
import type { NodeContext } from "./context.ts";
import { isMountOfShare } from "./share.ts";

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

/** Removes a mount point that we made. Never anything inside: what is there was written by a user. A read-only disk keeps it. */
export async function removeTarget(path: string): Promise<void> {
  const kind = await kindOf(path);
  if (kind === "missing") return;
  try {
    if (kind === "directory") await rmdir(path);
    else if (kind === "file") await unlink(path);
    else throw CsiError.failedPrecondition(`${path} is neither a directory nor a file; it is left alone`);
  } catch (error) {
    if (codeOf(error) !== "ENOTEMPTY") return unlessReadOnly(error);
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

/** What is mounted at a path: the volume, something else, or nothing. */
type MountedAs = "volume" | "other" | "nothing";

/**
 * Reads the kernel. `recorded`: by our records the volume is there, which counts where the kernel cannot show more,
 * as with a device that was fenced off from its image. `asDevice`: it was published as a device; its number may have been
 * given to another image since, and what is mounted is no more than the number. Throws FAILED_PRECONDITION when
 * something covers the volume.
 */
export async function mountedAs(
  node: NodeContext,
  volumeId: string,
  path: string,
  { recorded, asDevice = false }: { recorded: boolean; asDevice?: boolean },
): Promise<MountedAs> {
  const layers = await node.host.mounts.at(path);
  const owners = await Promise.all(layers.map((entry) => ownerOf(node, volumeId, entry)));
  const renumbered = (index: number) => asDevice && layers[index]?.fsType === "devtmpfs";
  const own = owners.map(
    (owner, index) => owner === "volume" || (recorded && (owner === "unknown" || renumbered(index))),
  );
  if (layers.length === 0) return "nothing";
  if (own.at(-1) === true) return "volume";
  if (!own.includes(true)) return "other";
  throw CsiError.failedPrecondition(`something else is mounted over volume "${volumeId}" at ${path}`, {
    hint: `Unmount what covers ${path} first.`,
  });
}

/** Throws FAILED_PRECONDITION when something else is where the volume is to be mounted. */
export async function requireFree(node: NodeContext, volumeId: string, path: string): Promise<void> {
  if ((await mountedAs(node, volumeId, path, { recorded: true })) !== "other") return;
  throw CsiError.failedPrecondition(`something else than volume "${volumeId}" is mounted at ${path}`, {
    hint: "Use another path, or unmount what is there first.",
  });
}

async function ownerOf(
  node: NodeContext,
  volumeId: string,
  entry: MountEntry,
): Promise<"volume" | "other" | "unknown"> {
  if (isMountOfFolder(volumeId, entry) || isMountOfShare(volumeId, entry)) return "volume";
  const device = deviceOf(entry);
  if (device === undefined) return entry.source.startsWith("/dev/") ? "unknown" : "other";
  const loop = await node.host.loops.at(device).catch(() => undefined);
  if (loop === undefined || loop.fenced === true) return "unknown";
  return basename(loop.backingFile) === `${volumeId}.img` ? "volume" : "other";
}

/** Whether the kernel shows the volume mounted anywhere on this node. */
export async function isMountedHere(node: NodeContext, volumeId: string): Promise<boolean> {
  for (const entry of await node.host.mounts.list())
    if ((await ownerOf(node, volumeId, entry)) === "volume") return true;
  return false;
}

/** The folder of a volume in a directory pool: its data is below what has the volume's name. */
export function isMountOfFolder(volumeId: string, { root }: MountEntry): boolean {
  return root.endsWith(`/${volumeId}/data`);
}

/** The loop device below a file system, or the one that is bound to the path itself. */
function deviceOf({ source, fsType, root }: MountEntry): string | undefined {
  if (/^\/dev\/loop\d+$/.test(source)) return source;
  const bound = fsType === "devtmpfs" ? /^\/(loop\d+)$/.exec(root)?.[1] : undefined;
  return bound === undefined ? undefined : `/dev/${bound}`;
}
