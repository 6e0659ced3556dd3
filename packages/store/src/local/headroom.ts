import { execFile } from "node:child_process";
import { statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import type { StoreEvent } from "./event.ts";

const run = promisify(execFile);

/** Of file systems that write into the blocks of a file where they are: ext4, xfs, tmpfs. btrfs would take others. */
const IN_PLACE: ReadonlySet<number> = new Set([0xef53, 0x58465342, 0x01021994]);
const MOST = 16 * 1024 ** 2;
/** Of a small disk. */
const PART = 0.05;
const RETRY_MS = 10_000;
/** Pages that a write changes on its way down the trees of objects and events, and in the list of free pages. */
const PER_EVENT = 64 * 1024;
/** What has to be left, as parts of the whole: for changes of objects, and for deletions. */
const [FOR_CHANGES, FOR_DELETIONS] = [1 / 2, 1 / 8];

/**
 * Room that the store's file has beyond its end, taken while the disk has some. When the disk is full, objects can still be
 * changed and deleted in it: deleting is how room is made.
 */
export class Headroom {
  readonly #path: string;
  readonly #wanted: number;
  /** Of a clock that does not jump; milliseconds. */
  #notBefore = 0;

  /** `keep`: false for none. */
  constructor(path: string, keep: boolean) {
    this.#path = path;
    this.#wanted = keep ? allowed(dirname(path)) : 0;
  }

  /** Takes what is missing when it is more than half, or nothing where it cannot. Call it while the disk has room. */
  async extend(): Promise<void> {
    if (performance.now() < this.#notBefore) return;
    try {
      if (this.#left() >= this.#wanted / 2) return;
      this.#notBefore = performance.now() + RETRY_MS;
      const end = statSync(this.#path).size;
      const range = ["--offset", String(end), "--length", String(this.#wanted)];
      await run("fallocate", ["--keep-size", ...range, this.#path]);
    } catch {
      // Without it a full disk refuses deletions like all else, and says what to do.
    }
  }

  /** Whether a full disk still takes these writes: as long as they make nothing new, those that delete to the last. */
  takes(events: readonly StoreEvent[]): boolean {
    if (this.#wanted === 0 || events.length === 0 || events.some(({ type }) => type === "ADDED"))
      return false;
    const part = events.every(isDeletion) ? FOR_DELETIONS : FOR_CHANGES;
    return this.#left() - costOf(events) >= this.#wanted * part;
  }

  #left(): number {
    const { blocks, size } = statSync(this.#path);
    return blocks * 512 - size;
  }
}

function allowed(folder: string): number {
  const { type, blocks, bsize } = statfsSync(folder);
  return IN_PLACE.has(type) ? Math.floor(Math.min(MOST, blocks * bsize * PART)) : 0;
}

/** An object goes, or something of one that is to go. */
function isDeletion({ type, json }: StoreEvent): boolean {
  if (type === "DELETED") return true;
  const { metadata } = JSON.parse(json) as { metadata?: { deletionTimestamp?: string } };
  return metadata?.deletionTimestamp !== undefined;
}

/** The object, and its event with what it was before. */
function costOf(events: readonly StoreEvent[]): number {
  return events.reduce(
    (sum, { json, previous = "" }) => sum + 2 * json.length + previous.length + PER_EVENT,
    0,
  );
}
