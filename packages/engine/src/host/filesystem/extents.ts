import { spawn } from "node:child_process";
import { type FileHandle, open } from "node:fs/promises";
import { EngineError } from "../../errors.ts";
import { cannotStart } from "../exec.ts";

/** A part of a file that has blocks of its own. What lies between extents reads as zeros. In bytes. */
export interface Extent {
  offset: number;
  length: number;
  /**
   * Where the bytes are below the file: two files of one file system have the same bytes where they have the same
   * place. `zeros`: blocks that were reserved and never written. Undefined: data whose place means nothing.
   */
  place: number | "zeros" | undefined;
}

/** Blocks with one of these have no place, or one that stands for other bytes than its number. */
const PLACELESS = /unknown_loc|delalloc|encoded|encrypted|not_aligned|inline|tail_packed|0x/;

/** Blocks of a file, and where they are on the device below its file system. In bytes. */
export interface Blocks {
  offset: number;
  length: number;
  /** Undefined: nowhere that could be found out. */
  at: number | undefined;
  /** False: set aside, and never written. */
  written: boolean;
}

/** `  0:   20480..   24575:   40960..   45055:   4096:  [20480:]  last,shared` */
const LINE = /^\s*\d+:\s*(\d+)\.\.\s*\d+:\s*(\d+)\.\.\s*\d+:\s*(\d+):(?:\s*\d+:)?\s*(.*)$/;

/** One line of `filefrag -v -b1`; undefined for those around the table. */
function parseBlocks(line: string): Blocks | undefined {
  const [, offset, place, length, flags = ""] = LINE.exec(line) ?? [];
  if (offset === undefined) return undefined;
  return {
    offset: Number(offset),
    length: Number(length),
    at: PLACELESS.test(flags) ? undefined : Number(place),
    written: !flags.split(",").includes("unwritten"),
  };
}

/** As an extent; undefined for the lines around the table. */
export function parseExtent(line: string): Extent | undefined {
  const blocks = parseBlocks(line);
  if (blocks === undefined) return undefined;
  const { offset, length, at, written } = blocks;
  return { offset, length, place: written ? at : "zeros" };
}

/**
 * The extents of a file in ascending order (FIEMAP, by filefrag(8): Node has no ioctl). Read as they are consumed, so
 * that a file in a million pieces needs no more memory than one in ten. The file must not be written to meanwhile; it
 * may be removed. Throws NOT_FOUND when it is gone before.
 */
export function fileExtents(path: string, signal?: AbortSignal): AsyncIterable<Extent> {
  return parsed(path, parseExtent, signal);
}

/** The same with where they are on the device, those that were never written as well. */
export function fileBlocks(path: string, signal?: AbortSignal): AsyncIterable<Blocks> {
  return parsed(path, parseBlocks, signal);
}

async function* parsed<T>(
  path: string,
  parse: (line: string) => T | undefined,
  signal: AbortSignal | undefined,
): AsyncIterable<T> {
  signal?.throwIfAborted();
  const file = await open(path, "r").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT")
      throw new EngineError("NOT_FOUND", `${path} is gone`, { cause: error });
    throw error;
  });
  try {
    for await (const line of mapOf(file, path, signal)) {
      const found = parse(line);
      if (found !== undefined) yield found;
    }
  } finally {
    await file.close();
  }
}

async function* mapOf(file: FileHandle, path: string, signal?: AbortSignal): AsyncIterable<string> {
  const child = spawn("filefrag", ["-s", "-v", "-b1", "/proc/self/fd/3"], {
    stdio: ["ignore", "pipe", "pipe", file.fd],
    env: { ...process.env, LC_ALL: "C" },
  });
  let complaint = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(-1000);
  });
  const ended = new Promise<number | string | Error>((resolve) => {
    child.once("error", resolve);
    child.once("exit", (code, name) => resolve(code ?? name ?? "nothing"));
  });
  const kill = (): boolean => child.kill("SIGKILL");
  signal?.addEventListener("abort", kill, { once: true });
  try {
    yield* lines(child.stdout?.setEncoding("utf8") ?? []);
    const end = await ended;
    signal?.throwIfAborted();
    // Half a map would read as a file with less data than it has.
    if (end !== 0) throw cannotRead(path, end, complaint);
  } finally {
    signal?.removeEventListener("abort", kill);
    kill();
    await ended;
  }
}

async function* lines(chunks: AsyncIterable<string> | Iterable<string>): AsyncIterable<string> {
  let rest = "";
  for await (const chunk of chunks) {
    const parts = (rest + chunk).split("\n");
    rest = parts.pop() ?? "";
    yield* parts;
  }
  if (rest !== "") yield rest;
}

function cannotRead(path: string, end: number | string | Error, complaint: string): EngineError {
  if (end instanceof Error) return cannotStart("filefrag", {}, end);
  return new EngineError("INTERNAL", `filefrag ${path} ended with ${end}: ${complaint.trim()}`);
}
