import { existsSync } from "node:fs";
import { chmod, realpath } from "node:fs/promises";
import { join, resolve } from "node:path";
import { poolBelow } from "@mooring/engine";
import { makeFolder } from "@mooring/store";

/** Where everything is below the state folder. */
export interface StateFolder {
  root: string;
  store: string;
  /** Kept short: socket paths have 107 bytes. */
  socket: string;
  /** The streams of this machine's pods, for the API server's thread. */
  streams: string;
  kubelet: string;
}

/** Makes the folder, which no other user can read: it contains a token, secrets and data. Throws FolderError. */
export async function openStateFolder(path: string): Promise<StateFolder> {
  await makeFolder(resolve(path), 0o700);
  // As the kernel names it: mounts, devices and sockets below a symbolic link would not be found again under its name.
  const root = await realpath(path);
  await chmod(root, 0o700);
  const [store, kubelet] = [join(root, "store"), join(root, "kubelet")];
  return { root, store, socket: join(root, "csi.sock"), streams: join(root, "pods.sock"), kubelet };
}

/** What an earlier Mooring has made here after its store: a pool with volumes, or the keys of its API server. */
export async function remainsOf(root: string): Promise<string | undefined> {
  const keys = join(root, "pki");
  return (await poolBelow(root)) ?? (existsSync(keys) ? keys : undefined);
}
