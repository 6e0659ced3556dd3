import { open, readFile, rename, stat, truncate, writeFile } from "node:fs/promises";
import { punchHole } from "@mooring/store";

/** A log may take this much of the disk; then its older half goes. */
const LOG_LIMIT_BYTES = 64 * 1024 * 1024;
/** Kubernetes reports the last 4 KiB of a termination message. */
const MESSAGE_LIMIT_BYTES = 1024 * 1024;
const BLOCK_BYTES = 512;
/** What a file system may need for its own notes about a file. */
const SLACK_BYTES = 1024 * 1024;

/** Of stat(2). */
interface Extent {
  size: number;
  /** What it takes of the disk: its writer may have left holes, written into them, or reserved room. */
  blocks: number;
}

/** Has something done while no process writes into the file. */
export type WhileStill = (work: () => Promise<void>) => Promise<void>;

const beginFile = (logFile: string): string => `${logFile}.begin`;

/** Offset in bytes of the first byte of the log that is kept: the begin of a line, unless that line is longer than 64 KiB. */
export async function logBegin(logFile: string): Promise<number> {
  return Number(await readFile(beginFile(logFile), "utf8").catch(() => "0")) || 0;
}

/** First the note, then the hole: a reader never sees the zeros. */
export async function noteBegin(logFile: string, begin: number): Promise<void> {
  await writeFile(`${beginFile(logFile)}.new`, `${begin}\n`);
  await rename(`${beginFile(logFile)}.new`, beginFile(logFile));
}

/**
 * Gives the disk space of the old part back while the container goes on writing: a hole in the file. Offsets stay what
 * they are, nothing is copied, and no line can be lost in between. Returns the new begin.
 */
export async function trimLog(
  logFile: string,
  extent: Extent,
  { begin, whileStill }: { begin: number; whileStill: WhileStill },
): Promise<number> {
  const isShort = extent.size - begin <= LOG_LIMIT_BYTES;
  if (isShort && bytesOf(extent) <= LOG_LIMIT_BYTES) return begin;
  const next = Math.max(begin, await nextLine(logFile, extent.size - LOG_LIMIT_BYTES / 2));
  await noteBegin(logFile, next);
  await giveBack(logFile, next, whileStill);
  return next;
}

/** The same for a container's termination message, which the kubelet does not read from its beginning. */
export async function trimMessage(file: string, whileStill: WhileStill): Promise<void> {
  const extent = await stat(file);
  if (bytesOf(extent) <= MESSAGE_LIMIT_BYTES) return;
  await giveBack(file, Math.max(0, extent.size - MESSAGE_LIMIT_BYTES / 2), whileStill);
}

async function giveBack(file: string, length: number, whileStill: WhileStill): Promise<void> {
  if (length > 0) {
    const opened = await open(file, "r+");
    try {
      await punchHole(opened.fd, length);
    } finally {
      await opened.close();
    }
  }
  if (!takesMore(await stat(file), length)) return;
  // No hole reaches what a container, or XFS for it, has reserved past the end; truncating the file there does. What would
  // be written between finding the end and truncating would be lost.
  await whileStill(async () => {
    const left = await stat(file);
    if (takesMore(left, length)) await truncate(file, left.size);
  });
}

/** More than what is behind the hole. */
function takesMore(extent: Extent, hole: number): boolean {
  return bytesOf(extent) > extent.size - hole + SLACK_BYTES;
}

function bytesOf({ blocks }: Extent): number {
  return blocks * BLOCK_BYTES;
}

async function nextLine(logFile: string, from: number): Promise<number> {
  if (from <= 0) return 0;
  const file = await open(logFile, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(64 * 1024), 0, undefined, from);
    const newline = buffer.subarray(0, bytesRead).indexOf(0x0a);
    return newline < 0 ? from : from + newline + 1;
  } finally {
    await file.close();
  }
}
