import { commandFailed } from "./exec.ts";
import { fileExtents } from "./filesystem/extents.ts";
import { allocatedRanges, type Range } from "./filesystem/ranges.ts";
import type { RepairResult } from "./filesystem/repair.ts";
import type { Exec } from "./host.ts";

/** The least that can be read past every cache, and all that one unreadable place costs. */
const BLOCK = 4096;
const MIB = 1024 ** 2;
/** Less than this between two ranges is read along with them: cheaper than one more program. */
const MERGE_DISTANCE = 16 * MIB;

/** The message about a place in a file or device that the disk does not give back. */
const UNREADABLE = /Input\/output error|Structure needs cleaning/;

/** True when the first block of a file or device fails with an input/output error; any other error is thrown. */
export async function firstBlockFails(exec: Exec, path: string, signal?: AbortSignal): Promise<boolean> {
  return (await firstFailure(exec, path, { offset: 0, length: BLOCK }, signal)) !== undefined;
}

interface RepairBlocks {
  exec: Exec;
  /** No other code uses it. */
  device: string;
  /** The file behind the device: only what is allocated there is read. */
  image: string;
  size: number;
  /** An operator accepts that blocks may be lost. */
  consent: boolean;
  signal?: AbortSignal;
}

/**
 * Reads everything that a device has stored. A block that cannot be read needs consent to be repaired: zeros are written
 * over it, for which a disk takes another place. Throws when that does not work either.
 */
export async function repairBlocks(request: RepairBlocks): Promise<RepairResult> {
  const { exec, device, image, size, consent, signal } = request;
  let lost = 0;
  for await (const range of near(allocatedRanges(fileExtents(image, signal), { from: 0, to: size }))) {
    const last = range.offset + range.length;
    for (let from = range.offset; from < last; ) {
      const at = await firstFailure(exec, device, { offset: from, length: last - from }, signal);
      if (at === undefined) break;
      if (!consent) return { outcome: "unsafe", report: `the block at byte ${at} cannot be read` };
      from = Math.min(at + MIB, last);
      lost += await overwriteUnreadable(request, at, from);
    }
  }
  if (lost === 0) return { outcome: "clean", report: "everything stored can be read" };
  return { outcome: "repaired", report: `${lost * BLOCK} bytes could not be read and are zeros now` };
}

/** How many blocks that were. */
async function overwriteUnreadable(
  { exec, device, signal }: RepairBlocks,
  from: number,
  to: number,
): Promise<number> {
  let lost = 0;
  for (let offset = from; offset < to; offset += BLOCK) {
    if ((await firstFailure(exec, device, { offset, length: BLOCK }, signal)) === undefined) continue;
    const place = [`bs=${BLOCK}`, "count=1", `seek=${offset}`, "oflag=direct,seek_bytes"];
    await exec.run("dd", ["if=/dev/zero", `of=${device}`, ...place, "conv=notrunc,fsync"], {
      ...(signal && { signal }),
    });
    lost += 1;
  }
  return lost;
}

/** Where the first block is that cannot be read, in bytes; by dd(1), because direct reads need aligned memory. */
async function firstFailure(
  exec: Exec,
  path: string,
  { offset, length }: Range,
  signal: AbortSignal | undefined,
): Promise<number | undefined> {
  const place = [`skip=${offset}`, `count=${length}`, "iflag=direct,skip_bytes,count_bytes"];
  const args = [`if=${path}`, "of=/dev/null", `bs=${Math.min(length, MIB)}`, ...place];
  const result = await exec.try("dd", args, { ...(signal && { signal }) });
  if (result.exitCode === 0) return undefined;
  if (!UNREADABLE.test(result.stderr)) throw commandFailed("dd", args, result);
  const [, read = "0"] = /^(\d+) bytes/m.exec(result.stderr) ?? [];
  return offset + Number(read) - (Number(read) % BLOCK);
}

/** Ranges that lie close together as one, each of whole blocks. */
async function* near(ranges: AsyncIterable<Range>): AsyncIterable<Range> {
  let current: Range | undefined;
  for await (const range of ranges) {
    const offset = range.offset - (range.offset % BLOCK);
    const end = Math.ceil((range.offset + range.length) / BLOCK) * BLOCK;
    if (current !== undefined && offset - (current.offset + current.length) < MERGE_DISTANCE) {
      current = { offset: current.offset, length: end - current.offset };
      continue;
    }
    if (current !== undefined) yield current;
    current = { offset, length: end - offset };
  }
  if (current !== undefined) yield current;
}
