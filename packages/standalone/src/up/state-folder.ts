import { chmod } from "node:fs/promises";
import { join, resolve } from "node:path";
import { makeFolder } from "@mooring/store";

/** Where everything is below the state folder. */
export interface StateFolder {
  root: string;
  store: string;
  /** Kept short: socket paths have 107 bytes. */
  socket: string;
  kubelet: string;
}

/** Makes the folder, readable by nobody else: it holds a token, secrets and data. Throws FolderError. */
export async function openStateFolder(path: string): Promise<StateFolder> {
  const root = resolve(path);
  await makeFolder(root, 0o700);
  await chmod(root, 0o700);
  return { root, store: join(root, "store"), socket: join(root, "csi.sock"), kubelet: join(root, "kubelet") };
}
