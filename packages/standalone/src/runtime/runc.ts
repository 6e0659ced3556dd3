import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Host } from "@mooring/engine";
import { unmountBelow } from "./mapped-mount.ts";

const run = promisify(execFile);

/**
 * Where distributions, and Docker's containerd.io, put runc. Not the PATH of who starts Mooring: it runs as root.
 * scripts/lib/setup.mjs, which runs before any package is there, has the same list.
 */
export const RUNC_FOLDERS: readonly string[] = ["/usr/sbin", "/usr/bin", "/usr/local/sbin"];

/** The first runc in these folders that can be run; undefined when there is none. */
export function findRunc(folders = RUNC_FOLDERS): string | undefined {
  return folders.map((folder) => join(folder, "runc")).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Where there is none, starts fail with this path in their error. */
export const RUNC = findRunc() ?? "/usr/sbin/runc";

/**
 * runc mounts itself on a file of this name while it begins a program in a container. Killed at that moment, as a probe is that
 * takes too long, it leaves the mount, and with it a folder that nobody can remove.
 */
const OWN_MOUNT = "runc.";

/** Has runc forget a container that has ended, and its control groups; kills what runs of it. One it never knew is fine. */
export async function deleteContainer(host: Host, root: string, id: string): Promise<void> {
  const folder = join(root, id);
  const left = await readdir(folder).catch(() => undefined);
  if (left === undefined) return;
  if (left.some((name) => name.startsWith(OWN_MOUNT))) await unmountBelow(host, folder);
  try {
    await run(RUNC, ["--root", root, "delete", "--force", id], { timeout: 30_000 });
  } finally {
    // Of a start that was killed before it had written its state.
    await rm(folder, { recursive: true, force: true });
  }
}
