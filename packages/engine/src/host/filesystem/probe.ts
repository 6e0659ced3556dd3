import { open, readFile, realpath } from "node:fs/promises";
import { defined } from "@mooring/store";
import { commandFailed } from "../exec.ts";
import type { Exec } from "../host.ts";

/** What is on a device. `data`: something that no tool recognises; it may be a user's all the same. */
export type ProbeResult =
  | { kind: "empty" }
  | { kind: "filesystem"; type: string; uuid?: string }
  | { kind: "data"; what: string };

const MIB = 1024 ** 2;
const ZEROS = Buffer.alloc(MIB);
/** Where the superblock of xfs, which is the first block, says that its mkfs has not come to its end. */
const XFS_IN_PROGRESS = 126;
/** blkid(8): nothing found, and more than one thing found. */
const NOTHING = 2;
const AMBIVALENT = 8;

/**
 * "Empty" needs two independent witnesses, since it leads to mkfs: blkid finds no signature, and the first and the
 * last MiB are zeros. A damaged superblock or a foreign format that blkid does not recognise is thereby never formatted over.
 */
export async function probe(exec: Exec, device: string, signal?: AbortSignal): Promise<ProbeResult> {
  const options = defined({ signal });
  const result = await exec.try("blkid", ["-p", "-o", "export", device], options);
  if (result.exitCode === AMBIVALENT) return { kind: "data", what: "signatures of several formats" };
  if (result.exitCode === 0) return finished(device, fromTags(result.stdout));
  if (result.exitCode !== NOTHING) throw commandFailed("blkid", ["-p", device], result);
  return probeEdges(device);
}

/** The second witness alone: beside another first one, and for a device that was found empty, once more before it is written to. */
export async function probeEdges(device: string): Promise<ProbeResult> {
  const zero = await edgesAreZero(device);
  return zero ? { kind: "empty" } : { kind: "data", what: "data of an unknown format" };
}

/**
 * An mkfs that was refused a block, in a full pool say, leaves what blkid takes for an xfs and no kernel mounts. The other types
 * write what they are known by last.
 */
async function finished(device: string, found: ProbeResult): Promise<ProbeResult> {
  if (found.kind !== "filesystem" || found.type !== "xfs") return found;
  const handle = await open(device, "r");
  try {
    const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, XFS_IN_PROGRESS);
    return buffer[0] === 0 ? found : { kind: "data", what: "an xfs whose mkfs did not end" };
  } finally {
    await handle.close();
  }
}

function fromTags(text: string): ProbeResult {
  const tags = new Map(text.split("\n").map((line) => splitTag(line)));
  const type = tags.get("TYPE");
  const uuid = tags.get("UUID");
  if (type !== undefined && tags.get("USAGE") === "filesystem") {
    return { kind: "filesystem", type, ...defined({ uuid }) };
  }
  return { kind: "data", what: type ?? tags.get("PTTYPE") ?? "a known signature" };
}

function splitTag(line: string): [string, string] {
  const equals = line.indexOf("=");
  return [line.slice(0, equals), line.slice(equals + 1)];
}

async function edgesAreZero(device: string): Promise<boolean> {
  const handle = await open(device, "r");
  try {
    const size = await sizeOf(handle, device);
    const length = Math.min(MIB, size);
    const buffer = Buffer.allocUnsafe(length);
    for (const position of [0, size - length]) {
      const { bytesRead } = await handle.read(buffer, 0, length, position);
      if (bytesRead !== length || !buffer.equals(ZEROS.subarray(0, length))) return false;
    }
    return true;
  } finally {
    await handle.close();
  }
}

/** Bytes of a device or an image file; `stat` reports 0 for devices. */
export async function deviceSize(path: string): Promise<number> {
  const handle = await open(path, "r");
  try {
    return await sizeOf(handle, path);
  } finally {
    await handle.close();
  }
}

async function sizeOf(handle: Awaited<ReturnType<typeof open>>, path: string): Promise<number> {
  const info = await handle.stat();
  if (!info.isBlockDevice()) return info.size;
  const name = (await realpath(path)).replace(/^\/dev\//, "");
  return Number(await readFile(`/sys/class/block/${name}/size`, "utf8")) * 512;
}
