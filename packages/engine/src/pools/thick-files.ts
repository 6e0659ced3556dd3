import { stat, statfs } from "node:fs/promises";
import { describeBytes } from "@mooring/store";
import { EngineError } from "../errors.ts";
import { commandFailed } from "../host/exec.ts";
import { type Blocks, fileBlocks } from "../host/filesystem/extents.ts";
import type { Range } from "../host/filesystem/ranges.ts";
import type { Host } from "../host/host.ts";
import { syncFile } from "./durable.ts";
import type { PoolLayout } from "./layout.ts";

/**
 * What one call of the kernel works on. XFS asks for as much free room as the call is long, before it finds out that the
 * blocks are there already.
 */
const PIECE_BYTES = 16 * 1024 ** 2;
/** Holes take what they are long in any case. */
const HOLE_BYTES = 1024 ** 3;
/** Pieces per program: between two programs the room that is left is read, and an abort heard. */
const UNSHARED_AT_ONCE = 4;
const ALLOCATED_AT_ONCE = 200;
/** A copy that would leave less of the pool ends: workloads that write meanwhile need room as well. */
const LEAST_FREE = 1 / 64;

/**
 * Files that are never in need of room: each block is set aside in the pool's file system and on the disk below it, and no
 * other file has it. Only XFS can make a block a file's own without its being written.
 */
export class ThickFiles {
  readonly #host: Host;
  readonly #layout: PoolLayout;

  constructor(host: Host, layout: PoolLayout) {
    this.#host = host;
    this.#layout = layout;
  }

  /** Bytes that copying the file costs: what was never written is not copied. */
  async written(path: string, signal?: AbortSignal): Promise<number> {
    let sum = 0;
    for await (const { length, written } of fileBlocks(path, signal)) if (written) sum += length;
    return sum;
  }

  /** Copies whatever the file shares with another one, on disk when this resolves. The other one has it to itself again. */
  async unshare(path: string, signal?: AbortSignal): Promise<void> {
    const ranges = (await mapOf(path, signal)).filter(({ written }) => written);
    for (const group of groups(pieces(ranges), UNSHARED_AT_ONCE)) {
      signal?.throwIfAborted();
      await this.#requireRoom();
      await this.#xfsIo(path, group, "funshare");
    }
    await syncFile(path);
  }

  /** Sets aside every block up to `size`, here and on the disk below. The file keeps its size. Repeatable. */
  async allocate(path: string, size: number, signal?: AbortSignal): Promise<void> {
    const holes = pieces(holesOf(await mapOf(path, signal), size), HOLE_BYTES);
    for (const group of groups(holes, ALLOCATED_AT_ONCE)) {
      signal?.throwIfAborted();
      await this.#xfsIo(path, group, "falloc -k");
    }
    await this.#allocateBelow(path, signal);
  }

  /** The pool is a sparse file: where a file of the pool has its blocks, that one has to have some as well. */
  async #allocateBelow(path: string, signal: AbortSignal | undefined): Promise<void> {
    const file = this.#layout.backing?.file;
    if (file === undefined) return;
    // A disk has the number of the byte in the file that is behind it.
    const places = (await mapOf(path, signal)).flatMap(({ at, length }) =>
      at === undefined ? [] : [{ offset: at, length }],
    );
    for (const group of groups(pieces(places), ALLOCATED_AT_ONCE)) {
      signal?.throwIfAborted();
      await this.#xfsIo(file, group, "falloc -k");
    }
    await syncFile(file);
  }

  async #requireRoom(): Promise<void> {
    const { blocks, bavail } = await statfs(this.#layout.images);
    if (bavail > blocks * LEAST_FREE) return;
    throw new EngineError("RESOURCE_EXHAUSTED", "the pool filled up while a thick volume was being copied", {
      hint: "delete volumes or snapshots, or make the pool larger",
    });
  }

  async #xfsIo(path: string, ranges: readonly Range[], command: string): Promise<void> {
    const commands = ranges.flatMap(({ offset, length }) => ["-c", `${command} ${offset} ${length}`]);
    const args = [...commands, path];
    const result = await this.#host.exec.try("xfs_io", args);
    // It reports what failed, and goes on with the next command.
    if (result.exitCode === 0 && result.stderr === "") return;
    if (/No space left/.test(result.stderr)) {
      const { size } = await stat(path);
      const message = `there is no room for all ${describeBytes(size)} of ${path}`;
      throw new EngineError("RESOURCE_EXHAUSTED", message, {
        hint: "delete volumes or snapshots, or make the pool and the disk below it larger",
      });
    }
    if (/not supported/.test(result.stderr)) {
      const message = `blocks of ${path} cannot be set aside: its file system has no fallocate`;
      throw new EngineError("FAILED_PRECONDITION", message, { hint: "use thin volumes there" });
    }
    throw commandFailed("xfs_io", args.slice(-3), result);
  }
}

async function mapOf(path: string, signal: AbortSignal | undefined): Promise<Blocks[]> {
  const all: Blocks[] = [];
  for await (const blocks of fileBlocks(path, signal)) all.push(blocks);
  return all;
}

/** What lies between the blocks of a file, up to `size`. */
function holesOf(blocks: readonly Range[], size: number): Range[] {
  const holes: Range[] = [];
  let end = 0;
  for (const { offset, length } of [...blocks, { offset: size, length: 0 }]) {
    if (offset > end && end < size) holes.push({ offset: end, length: Math.min(offset, size) - end });
    end = Math.max(end, offset + length);
  }
  return holes;
}

function pieces(ranges: readonly Range[], size = PIECE_BYTES): Range[] {
  return ranges.flatMap(({ offset, length }) =>
    Array.from({ length: Math.ceil(length / size) }, (_, index) => ({
      offset: offset + index * size,
      length: Math.min(size, length - index * size),
    })),
  );
}

function* groups<T>(all: readonly T[], size: number): Iterable<T[]> {
  for (let at = 0; at < all.length; at += size) yield all.slice(at, at + size);
}
