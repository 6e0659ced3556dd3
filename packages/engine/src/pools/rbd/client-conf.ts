import { readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { EngineError } from "../../errors.ts";
import { absent } from "../file-images.ts";
import type { RbdPlace } from "./place.ts";

/** In the pool's folder: the configuration file of our own clients. */
export const CLIENT_CONF = "ceph.conf";
/** Who may read a key: its owner only. */
const PRIVATE = 0o600;
/** A key alone, as `ceph auth print-key` prints it: 28 bytes. */
const KEY = /^[A-Za-z0-9+/]{36,}={0,2}\s*$/;

/**
 * For all our clients alike, whatever the cluster's file has for others. Features: layering, exclusive lock, object map, fast
 * diff, deep flatten. Clones of format 2 let their source's snapshot, and their source, go before them.
 */
const SETTINGS = [
  "rbd_default_features = 61",
  "rbd_default_clone_format = 2",
  "admin_socket =",
  "log_file =",
  "pid_file =",
];

/**
 * Writes the configuration file of our own clients: the cluster's, and what is different for us. A path is all that
 * their arguments have of a key.
 */
export async function writeClientConf(folder: string, place: RbdPlace): Promise<string> {
  const { conf, user, keyring } = place;
  const cluster = await readFile(conf, "utf8").catch(absent);
  if (cluster === undefined) {
    throw new EngineError("FAILED_PRECONDITION", `there is no ${conf} on this node`, {
      hint: "copy the cluster's ceph.conf there",
    });
  }
  const own = [
    `[client.${user}]`,
    ...SETTINGS,
    ...(keyring === undefined ? [] : [await keySetting(keyring)]),
  ];
  const path = join(folder, CLIENT_CONF);
  await writeFile(`${path}.new`, `${cluster.trimEnd()}\n\n${own.join("\n")}\n`, { mode: PRIVATE });
  await rename(`${path}.new`, path);
  return path;
}

/** Each command reads the file anew: a key that is put there later counts from the next one on. */
async function keySetting(file: string): Promise<string> {
  await requirePrivate(file);
  const text = await readFile(file, "utf8");
  if (/^\s*\[client\.[^\]]+\]/m.test(text)) return `keyring = ${file}`;
  if (KEY.test(text)) return `keyfile = ${file}`;
  throw new EngineError("FAILED_PRECONDITION", `${file} is neither a keyring of Ceph nor a key alone`, {
    hint: "write it with ceph auth get client.NAME -o FILE, or ceph auth print-key client.NAME",
  });
}

async function requirePrivate(keyring: string): Promise<void> {
  const info = await stat(keyring).catch(absent);
  if (info === undefined) {
    throw new EngineError("FAILED_PRECONDITION", `there is no keyring ${keyring} on this node`, {
      hint: "write the user's key there, or into the Secret that is mounted there: ceph auth get client.NAME -o FILE",
    });
  }
  if ((info.mode & 0o077) === 0) return;
  throw new EngineError("FAILED_PRECONDITION", `others may read the keyring ${keyring}`, {
    hint: `chmod 600 ${keyring}`,
  });
}
