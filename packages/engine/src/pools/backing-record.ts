import { lstat, open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { requireKind, syncFolder } from "@mooring/store";
import { EngineError } from "../errors.ts";
import { absent } from "./file-images.ts";

/**
 * What a pool's folder records of its file, so that one that has gone or was truncated is not taken for a new or a small
 * one.
 */
function recordPath(folder: string): string {
  return join(folder, "pool.json");
}

/** Bytes that the file had; 0 when the record cannot be read, undefined when there never was a file. */
async function recordedSize(folder: string): Promise<number | undefined> {
  const hint = "move it away: it is made anew from the pool's file";
  requireKind({ path: recordPath(folder), kind: "file", hint });
  const text = await readFile(recordPath(folder), "utf8").catch(absent);
  if (text === undefined) return undefined;
  return Number(/^\{"size":(\d+)\}\n$/.exec(text)?.[1] ?? 0);
}

/** Writes down how large the file is; nothing when that is known. */
export async function recordBacking(folder: string, file: string): Promise<void> {
  const { size } = await lstat(file);
  if ((await recordedSize(folder)) === size) return;
  const temporary = `${recordPath(folder)}.new`;
  const handle = await open(temporary, "w", 0o600);
  try {
    await handle.writeFile(`{"size":${size}}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, recordPath(folder));
  await syncFolder(folder);
}

/** Removes the record before the file itself: a file that is not wanted any more must not be reported as missing. */
export async function forgetBacking(folder: string): Promise<void> {
  for (const path of [`${recordPath(folder)}.new`, recordPath(folder)]) await rm(path, { force: true });
}

/** Where the head of a btrfs is, and how much of both heads is read. */
const BTRFS_HEAD = 65_536;
const HEAD_BYTES = 128;

/** Bytes that the file system in the file has, by its head; 0 when it has none that we recognise. */
export async function filesystemSize(file: string): Promise<number> {
  const handle = await open(file, "r");
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    await handle.read(head, 0, HEAD_BYTES, 0);
    if (head.toString("latin1", 0, 4) === "XFSB")
      return head.readUInt32BE(4) * Number(head.readBigUInt64BE(8));
    await handle.read(head, 0, HEAD_BYTES, BTRFS_HEAD);
    if (head.toString("latin1", 0x40, 0x48) === "_BHRfS_M") return Number(head.readBigUInt64LE(0x70));
    return 0;
  } finally {
    await handle.close();
  }
}

/**
 * Throws DATA_LOSS when the pool's file has gone, or has become shorter: a new one in its place, or zeros at its end, would
 * hide what volumes have lost. `undefined` and sizes of files that are whole are fine.
 */
export async function requireWhole(folder: string, file: string): Promise<void> {
  const recorded = await recordedSize(folder);
  const present = await lstat(file).catch(absent);
  const hint = `put the file back from a copy; only if none of its volumes is needed: delete them, then move ${folder} away`;
  if (present === undefined) {
    if (recorded === undefined) return;
    throw new EngineError("DATA_LOSS", `the pool's file ${file} is missing, and had ${recorded} bytes`, {
      hint,
    });
  }
  if (!present.isFile()) return;
  const expected = Math.max(recorded ?? 0, await filesystemSize(file));
  if (present.size >= expected) return;
  const message = `the pool's file ${file} was truncated: it has ${present.size} bytes, and had ${expected}`;
  throw new EngineError("DATA_LOSS", message, { hint });
}
