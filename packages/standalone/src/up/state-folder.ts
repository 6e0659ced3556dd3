import { existsSync } from "node:fs";
import { chmod, realpath } from "node:fs/promises";
import { join, resolve } from "node:path";
import { poolBelow } from "@mooring/engine";
import { makeFolder, requireKind } from "@mooring/store";
import { startedElsewhere } from "../runtime/index.ts";

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

const ANEW = "move it away: it is made anew";
const COPY = "move it away, and put back what was there from a copy of the state folder";

/** What is below a state folder, and what to do where something of another kind is. The store sees to its own files. */
const FILES: readonly (readonly [path: string, hint: string])[] = [
  ["node-name", ANEW],
  ["kubeconfig", ANEW],
  ["pki/ca.crt", COPY],
  ["pki/ca.key", COPY],
  ["pki/server.crt", ANEW],
  ["pki/server.key", ANEW],
  ["pki/service-accounts.key", COPY],
  ["pki/token", COPY],
];
const FOLDERS: typeof FILES = [
  ["store", "move it away, and put back the newest copy with `mooring state restore`"],
  ["pki", COPY],
  ["pools", COPY],
  ["kubelet", ANEW],
  ["kubelet/pods", ANEW],
  ["backups", ANEW],
];

/** What the containers of its pods have mounted has the name of before, and so have the notes about them on this machine. */
class MovedUnderPods extends Error {
  override readonly name = "MovedUnderPods";
  readonly hint: string;

  constructor(root: string, before: string) {
    super(
      `pods of the state folder ${root} were started when it was ${before}, and have not been stopped there`,
    );
    this.hint = `move it back to ${before}, start Mooring there, stop it, and move the folder then; of a copy, remove kubelet/runtime`;
  }
}

/** Makes the folder, which no other user can read: it contains a token, secrets and data. Throws FolderError, FileKindError, MovedUnderPods. */
export async function openStateFolder(path: string): Promise<StateFolder> {
  await makeFolder(resolve(path), 0o700);
  // As the kernel names it: mounts, devices and sockets below a symbolic link would not be found again under its name.
  const root = await realpath(path);
  await chmod(root, 0o700);
  for (const [name, hint] of FOLDERS) requireKind({ path: join(root, name), kind: "folder", hint });
  for (const [name, hint] of FILES) requireKind({ path: join(root, name), kind: "file", hint });
  const [store, kubelet] = [join(root, "store"), join(root, "kubelet")];
  const [before] = (await startedElsewhere(kubelet)) ?? [];
  if (before !== undefined) throw new MovedUnderPods(root, before);
  return { root, store, socket: join(root, "csi.sock"), streams: join(root, "pods.sock"), kubelet };
}

/** What an earlier Mooring has made here after its store: a pool with volumes, or the keys of its API server. */
export async function remainsOf(root: string): Promise<string | undefined> {
  const keys = join(root, "pki");
  return (await poolBelow(root)) ?? (existsSync(keys) ? keys : undefined);
}
