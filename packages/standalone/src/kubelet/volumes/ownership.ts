import { constants, type Stats } from "node:fs";
import { chmod, chown, type FileHandle, lchown, lstat, open, opendir } from "node:fs/promises";
import type { PersistentVolume } from "@mooring/store";
import { childPath, O_PATH } from "../../runtime/open-child.ts";

/** Whether the kubelet is to give the volume's files to the pod's fsGroup (CSIDriver.spec.fsGroupPolicy). */
export function appliesGroup(policy: string | undefined, volume: PersistentVolume): boolean {
  if (policy === "None") return false;
  if (policy === "File") return true;
  // ReadWriteOnceWithFSType, which is also the default.
  const { accessModes = [], csi } = volume.spec ?? {};
  return (
    Boolean(csi?.fsType) &&
    accessModes.some((mode) => mode === "ReadWriteOnce" || mode === "ReadWriteOncePod")
  );
}

/** Gives a tree to a group: group-owned, readable and writable for it; new files in it inherit the group. */
export async function takeOwnership(root: string, group: number, changePolicy?: string): Promise<void> {
  if (changePolicy === "OnRootMismatch" && (await belongsTo(root, group))) return;
  await give(root, group);
}

async function belongsTo(root: string, group: number): Promise<boolean> {
  const { gid, mode } = await lstat(root);
  return gid === group && (mode & 0o2070) === 0o2070;
}

/** Levels of folders that are followed: each takes two descriptors. */
const DEEPEST = 500;
const FOLDER = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * A program that can write to the volume may turn what is in it into links while this runs. So a folder is entered from the open one
 * above it, and modes are changed of what was opened, never of a name.
 */
async function give(path: string | Buffer, group: number, depth = 0): Promise<void> {
  if (depth > DEEPEST) throw new Error(`fsGroup: folders are nested more than ${DEEPEST} deep`);
  const folder = await open(path, FOLDER);
  try {
    // Children first: the root's ownership records that everything below is done (OnRootMismatch after an interruption).
    // Names are bytes.
    for await (const { name } of await opendir(`/proc/self/fd/${folder.fd}`, { encoding: "latin1" })) {
      const child = Buffer.from(childPath(folder, name), "latin1");
      const info = await lstat(child);
      if (info.isDirectory()) await give(child, group, depth + 1);
      else await giveFile(child, info, group);
    }
    const { uid, gid, mode } = await folder.stat();
    if (gid !== group) await chown(`/proc/self/fd/${folder.fd}`, uid, group);
    await widen(folder, mode, 0o2070);
  } finally {
    await folder.close();
  }
}

async function giveFile(path: Buffer, info: Stats, group: number): Promise<void> {
  if (info.gid !== group) await lchown(path, info.uid, group);
  const wanted = 0o060 | ((info.mode & 0o100) >> 3);
  if (info.isSymbolicLink() || (info.mode & wanted) === wanted) return;
  const file = await open(path, O_PATH | constants.O_NOFOLLOW);
  try {
    // Links have no mode of their own; following one could change a file outside of the volume.
    if (!(await file.stat()).isSymbolicLink()) await widen(file, info.mode, wanted);
  } finally {
    await file.close();
  }
}

async function widen(file: FileHandle, mode: number, wanted: number): Promise<void> {
  if ((mode & wanted) !== wanted) await chmod(`/proc/self/fd/${file.fd}`, (mode & 0o7777) | wanted);
}
