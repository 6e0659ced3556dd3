import { constants } from "node:fs";
import {
  chmod,
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  realpath,
  rm,
  rmdir,
  writeFile,
} from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import type { Host } from "@mooring/engine";
import { unlessReadOnly } from "@mooring/store";
import { childPath, O_PATH, openChild } from "../../runtime/open-child.ts";

/**
 * Binds a folder or file inside a volume to `target`. A program that can write to the volume may put links into it, also
 * while this runs, so the path is walked by open folders, never following a link, and the bind is made from the last.
 * Links that stay inside the volume are resolved first. A path that is missing becomes a folder.
 *
 * What was bound for an earlier container stays only while it is what the path leads to: a file of a ConfigMap is another one after each
 * change, and no container starts from a folder that was removed. Resolves with `true` when such a folder was made again.
 */
export async function bindSubPath(
  host: Host,
  volume: string,
  subPath: string,
  target: string,
): Promise<boolean> {
  const wasBound = (await host.mounts.at(target)).length > 0;
  const root = await realpath(volume);
  const inside = await resolveInside(root, subPath);
  const { handle, made } = await walk(root, inside);
  try {
    if (wasBound && (await isSame(handle, target))) return false;
    if (wasBound) await unbind(host, target);
    await mkdir(dirname(target), { recursive: true, mode: 0o750 });
    if ((await handle.stat()).isDirectory()) await mkdir(target, { recursive: true });
    else await writeFile(target, "", { flag: "a" });
    // -c: the source is the open file, not the path that it had when mount opened it.
    await host.exec.run("mount", ["-c", "--bind", `/proc/${process.pid}/fd/${handle.fd}`, target]);
    return wasBound && made;
  } finally {
    await handle.close();
  }
}

/** The bound file keeps its number as long as it is bound. */
async function isSame(handle: FileHandle, target: string): Promise<boolean> {
  const bound = await lstat(target, { bigint: true }).catch(() => undefined);
  const wanted = await handle.stat({ bigint: true });
  return bound?.dev === wanted.dev && bound.ino === wanted.ino;
}

/** Containers that run have mounts of their own of what was bound. The next thing may be a file where this was a folder. */
async function unbind(host: Host, target: string): Promise<void> {
  await host.mounts.unmount(target);
  if ((await lstat(target)).isDirectory()) await rmdir(target);
  else await rm(target);
}

/** Undoes all binds of a pod below `folder`. */
export async function removeSubPaths(host: Host, folder: string): Promise<void> {
  if ((await lstat(folder).catch(() => undefined)) === undefined) return;
  const targets = (await host.mounts.list()).map((mount) => mount.target);
  for (const target of targets.filter((each) => each.startsWith(`${folder}/`)))
    await host.mounts.unmount(target);
  await removeEmpty(folder);
}

/** Never more than empty folders and the empty files that carried binds of files. */
async function removeEmpty(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await removeEmpty(path);
    else if ((await lstat(path)).size === 0) await rm(path).catch(unlessReadOnly);
  }
  await rmdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") unlessReadOnly(error);
  });
}

async function resolveInside(root: string, subPath: string): Promise<string[]> {
  if (subPath.startsWith("/") || subPath.split("/").includes("..")) {
    throw new Error(`subPath ${subPath} must be relative and must not contain ".."`);
  }
  let existing = join(root, subPath);
  const missing: string[] = [];
  for (;;) {
    const real = await realpath(existing).catch(() => undefined);
    if (real !== undefined) {
      const inside = relative(root, real);
      if (inside === ".." || inside.startsWith("../"))
        throw new Error(`subPath ${subPath} leaves its volume through a link`);
      return [...inside.split("/"), ...missing].filter(Boolean);
    }
    // A link to nowhere is not something to create a folder behind.
    if (
      await lstat(existing).then(
        () => true,
        () => false,
      )
    )
      throw new Error(`subPath ${subPath} is a broken link`);
    missing.unshift(existing.slice(dirname(existing).length + 1));
    existing = dirname(existing);
  }
}

/** `made`: the last folder of the path was missing. */
async function walk(root: string, parts: readonly string[]): Promise<{ handle: FileHandle; made: boolean }> {
  let handle = await open(root, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  let made = false;
  for (const part of parts) {
    const found = await openChild(handle, part);
    made = found === undefined;
    const next = found ?? (await makeFolder(handle, part));
    await handle.close();
    if (next === undefined) throw new Error(`${part} vanished while it was being mounted`);
    handle = next;
    if ((await handle.stat()).isSymbolicLink()) {
      await handle.close();
      throw new Error(`${part} became a link while it was being mounted`);
    }
  }
  return { handle, made };
}

/** As open to the pod's user and fsGroup as the folder it is in; mkdir's mode would go through our umask. */
async function makeFolder(parent: FileHandle, name: string): Promise<FileHandle | undefined> {
  await mkdir(childPath(parent, name));
  const made = await openChild(parent, name);
  // What was opened gets the mode: its name may be a link by now.
  if (made !== undefined && (await made.stat()).isDirectory())
    await chmod(`/proc/self/fd/${made.fd}`, (await parent.stat()).mode & 0o7777);
  return made;
}
