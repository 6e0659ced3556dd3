import { constants } from "node:fs";
import { type FileHandle, open, readdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { requireKind } from "../runtime/file-kind.ts";
import { checksum, sealed, unsealed } from "./seal.ts";

const KEY = "newest";
/** It is written in its place, in one call: it always has so many bytes. */
const BYTES = 64;

/** How far a store has come. */
export interface Reached {
  revision: number;
  /** RFC 3339. */
  time: string;
}

/**
 * What a file elsewhere has of how far a store has come, so that an older file of it is recognised. It is written behind the
 * commits, once they are on disk, and not flushed: after a power cut it may be behind the store, and is never ahead of it. Undefined
 * where there is none, or it is not what was written. Throws FileKindError for what is no file there.
 */
export async function readReached(path: string): Promise<Reached | undefined> {
  requireKind({ path, kind: "file", hint: "move it away: it is made anew" });
  const value = await readFile(path, "utf8").catch(() => "");
  const [revision = "", time = ""] = unsealed(KEY, value.trimEnd())?.split(" ") ?? [];
  return /^\d+$/.test(revision) ? { revision: Number(revision), time } : undefined;
}

/** Keeps the file of {@link readReached}, as far as its folder is there and has room: it is a help, and nothing waits for it. */
export class NewestRevision {
  readonly #path: string;
  #wanted = 0;
  #written = -1;
  #writing: Promise<void> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** The revision that is on disk now. Writes that come while one is being written become one. */
  note(revision: number): void {
    this.#wanted = revision;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
  }

  /** Resolves when the last one is in the file. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<void> {
    while (this.#written !== this.#wanted) {
      const revision = this.#wanted;
      await writeReached(this.#path, revision).catch(() => {});
      this.#written = revision;
    }
  }
}

async function writeReached(path: string, revision: number): Promise<void> {
  const text = `${revision} ${new Date().toISOString()}`;
  const line = `${sealed(text, checksum(KEY, text)).padEnd(BYTES - 1)}\n`;
  const file = await openOrMake(path);
  try {
    await file.write(line, 0);
  } finally {
    await file.close();
  }
}

/** Nothing is made in a folder that is empty: it may be where a disk is to be mounted. Throws ENOENT then. */
async function openOrMake(path: string): Promise<FileHandle> {
  const flags = constants.O_WRONLY | constants.O_NONBLOCK;
  try {
    return await open(path, flags);
  } catch (error) {
    const others = await readdir(dirname(path));
    if (others.length === 0) throw error;
    return open(path, flags | constants.O_CREAT, 0o600);
  }
}
