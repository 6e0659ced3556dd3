import { chmod, lchown, lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import type { PersistentVolume } from "@mooring/store";

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

/** Children first: the root's ownership records that everything below is done (OnRootMismatch after an interruption). */
async function give(path: string, group: number): Promise<void> {
  const info = await lstat(path);
  if (info.isDirectory()) {
    for await (const entry of await opendir(path)) await give(join(path, entry.name), group);
  }
  if (info.gid !== group) await lchown(path, info.uid, group);
  // Links have no mode of their own; following one could change a file outside of the volume.
  if (info.isSymbolicLink()) return;
  const wanted = info.isDirectory() ? 0o2070 : 0o060 | ((info.mode & 0o100) >> 3);
  if ((info.mode & wanted) !== wanted) await chmod(path, (info.mode & 0o7777) | wanted);
}
