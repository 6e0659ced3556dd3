import { constants, type Stats } from "node:fs";
import { chmod, chown, type FileHandle, lstat, open, opendir } from "node:fs/promises";
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
/** chown(2): this one is not changed. */
const KEEP = -1;
const FOLDER = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** What a program that writes to the volume has taken away, or made into something else, since its name was read. */
const CHANGED: ReadonlySet<string | undefined> = new Set(["ENOENT", "ENOTDIR", "ELOOP"]);

/**
 * A program that can write to the volume may turn what is in it into links, or into each other, while this runs. So a folder is
 * entered from the open one above it, and owners and modes are read and changed of what was opened, never of a name.
 */
async function give(path: string | Buffer, group: number, depth = 0): Promise<void> {
  if (depth > DEEPEST) throw new Error(`fsGroup: folders are nested more than ${DEEPEST} deep`);
  const folder = await open(path, FOLDER);
  try {
    // Children first: the root's ownership records that everything below is done (OnRootMismatch after an interruption).
    // Names are bytes.
    for await (const { name } of await opendir(`/proc/self/fd/${folder.fd}`, { encoding: "latin1" }))
      await giveChild(Buffer.from(childPath(folder, name), "latin1"), group, depth);
    await take(folder, group, 0o2070);
  } finally {
    await folder.close();
  }
}

async function giveChild(path: Buffer, group: number, depth: number): Promise<void> {
  try {
    const seen = await lstat(path);
    if (seen.isDirectory()) await give(path, group, depth + 1);
    else if (!isGiven(seen, group, bitsOf(seen))) await giveFile(path, group);
  } catch (error) {
    // It does not keep the pod from starting: files that are made now belong to the group, by the bit of their folder.
    if (!CHANGED.has((error as NodeJS.ErrnoException).code)) throw error;
  }
}

async function giveFile(path: Buffer, group: number): Promise<void> {
  const file = await open(path, O_PATH | constants.O_NOFOLLOW);
  try {
    const info = await file.stat();
    // What is a folder by now is not entered: it was made after this began.
    if (!info.isDirectory()) await take(file, group, bitsOf(info));
  } finally {
    await file.close();
  }
}

/** What the group gets of a file: links have no mode of their own. */
const bitsOf = (info: Stats): number => (info.isSymbolicLink() ? 0 : 0o060 | ((info.mode & 0o100) >> 3));

const isGiven = ({ gid, mode }: Stats, group: number, bits: number): boolean =>
  gid === group && (mode & bits) === bits;

/** The owner stays whoever it is. */
async function take(file: FileHandle, group: number, bits: number): Promise<void> {
  const { gid, mode } = await file.stat();
  const path = `/proc/self/fd/${file.fd}`;
  if (gid !== group) await chown(path, KEEP, group);
  if ((mode & bits) !== bits) await chmod(path, (mode & 0o7777) | bits);
}
