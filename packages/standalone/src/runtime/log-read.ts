import { watch } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { delay, firstOf } from "@mooring/store";
import { logBegin } from "./log-limit.ts";
import { offsetSince, readStamps } from "./log-stamps.ts";
import { withTimes } from "./log-times.ts";
import type { LogOptions } from "./runtime.ts";

const CHUNK = 64 * 1024;

/** Reads a container's log as `kubectl logs` wants it. `ended` reports whether the container can still write. */
export async function* readLog(
  logFile: string,
  options: LogOptions,
  ended: () => boolean,
): AsyncGenerator<Uint8Array> {
  const file = await open(logFile, "r");
  try {
    const start = await startOffset(file, logFile, options);
    const raw = options.follow
      ? follow(file, logFile, { start, ended }, options.signal)
      : chunks(file, start);
    const lines = options.timestamps ? withTimes(raw, logFile, start) : raw;
    yield* options.limitBytes === undefined ? lines : limit(lines, options.limitBytes);
  } finally {
    await file.close();
  }
}

async function startOffset(file: FileHandle, logFile: string, options: LogOptions): Promise<number> {
  const since = options.sinceTime !== undefined ? Date.parse(options.sinceTime) : undefined;
  const from = options.sinceSeconds !== undefined ? Date.now() - options.sinceSeconds * 1000 : since;
  const byTime = from === undefined ? 0 : offsetSince(await readStamps(logFile), from);
  const begin = await logBegin(logFile);
  const byLines = options.tailLines === undefined ? 0 : await offsetOfTail(file, options.tailLines, begin);
  return Math.max(byTime, byLines, begin);
}

/** Where the last `count` lines begin; a last line without its end counts. */
async function offsetOfTail(file: FileHandle, count: number, first: number): Promise<number> {
  const { size } = await file.stat();
  if (count <= 0) return size;
  let left = count;
  for (let end = size; end > first; ) {
    const begin = Math.max(first, end - CHUNK);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(end - begin), 0, undefined, begin);
    for (let i = bytesRead - 1; i >= 0; i -= 1) {
      if (buffer[i] !== 0x0a || begin + i === size - 1) continue;
      left -= 1;
      if (left === 0) return begin + i + 1;
    }
    end = begin;
  }
  return first;
}

async function* chunks(file: FileHandle, start: number): AsyncGenerator<Uint8Array> {
  for (let offset = start; ; ) {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(CHUNK), 0, undefined, offset);
    if (bytesRead === 0) return;
    offset += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

async function* follow(
  file: FileHandle,
  logFile: string,
  { start, ended }: { start: number; ended: () => boolean },
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let wake = () => {};
  const watcher = watch(logFile, { persistent: false }, () => wake());
  watcher.on("error", () => {});
  try {
    for (let offset = start; signal?.aborted !== true; ) {
      // In this order: what was written before the end is read after it.
      const last = ended();
      const before = offset;
      for await (const chunk of chunks(file, offset)) {
        offset += chunk.length;
        yield chunk;
      }
      if (last) return;
      if (offset > before) continue;
      const timer = new AbortController();
      wake = () => timer.abort();
      const wakers = signal === undefined ? [timer.signal] : [timer.signal, signal];
      await firstOf(wakers, (woken) => delay(500, woken)).catch(() => {});
    }
  } finally {
    watcher.close();
  }
}

async function* limit(source: AsyncIterable<Uint8Array>, bytes: number): AsyncGenerator<Uint8Array> {
  let left = bytes;
  for await (const chunk of source) {
    if (chunk.length >= left) {
      yield chunk.subarray(0, left);
      return;
    }
    left -= chunk.length;
    yield chunk;
  }
}
