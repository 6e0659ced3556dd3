import { execFile } from "node:child_process";
import { open, readFile, rename, writeFile } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A log may take this much of the disk; then its older half goes. */
const LOG_LIMIT_BYTES = 64 * 1024 * 1024;
const KEEP_BYTES = LOG_LIMIT_BYTES / 2;

const beginFile = (logFile: string): string => `${logFile}.begin`;

/** Offset of the first byte of the log that is still there; always the begin of a line. */
export async function logBegin(logFile: string): Promise<number> {
  return Number(await readFile(beginFile(logFile), "utf8").catch(() => "0")) || 0;
}

/**
 * Gives the disk space of the old part back while the container goes on writing: a hole in the file. Offsets stay what
 * they are, nothing is copied, and no line can be lost in between. Returns the new begin.
 */
export async function trimLog(logFile: string, size: number, begin: number): Promise<number> {
  if (size - begin <= LOG_LIMIT_BYTES) return begin;
  const next = await nextLine(logFile, size - KEEP_BYTES);
  // First the note, then the hole: a reader never sees the zeros.
  await writeFile(`${beginFile(logFile)}.new`, `${next}\n`);
  await rename(`${beginFile(logFile)}.new`, beginFile(logFile));
  await run("/usr/bin/fallocate", ["--punch-hole", "--offset", "0", "--length", `${next}`, logFile]);
  return next;
}

async function nextLine(logFile: string, from: number): Promise<number> {
  const file = await open(logFile, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(64 * 1024), 0, undefined, from);
    const newline = buffer.subarray(0, bytesRead).indexOf(0x0a);
    return newline < 0 ? from : from + newline + 1;
  } finally {
    await file.close();
  }
}
