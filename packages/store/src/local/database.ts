import { open as openFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { type Database, open, type RootDatabase } from "lmdb";
import { StatusError } from "../object/status-error.ts";
import { makeFolder } from "../runtime/make-folder.ts";
import { closeOnExec } from "./close-on-exec.ts";
import type { StoreEvent } from "./event.ts";
import { lockFolder } from "./lock.ts";
import { StoreOpenError } from "./open-error.ts";

/** Layout of the files. Raise it when an older Mooring could not read what this one writes. */
const FORMAT = 1;

/** Keys scanned per tick; a scan of more yields to the event loop in between. */
const SCAN = 256;

/**
 * The files of a store: objects by path, events by revision. Writes become visible to reads when they are on disk
 * and not before (`overlappingSync: false`; docs/decisions/0001-durable-group-commit.md).
 */
export class ObjectDatabase {
  readonly #root: RootDatabase<string, string>;
  readonly #objects: Database<string, string>;
  readonly #events: Database<string, number>;
  readonly #meta: Database<number, string>;
  readonly #unlock: () => Promise<void>;
  #closed = false;

  private constructor(root: RootDatabase<string, string>, unlock: () => Promise<void>) {
    this.#root = root;
    this.#unlock = unlock;
    this.#objects = root.openDB({ name: "objects", encoding: "string" });
    this.#events = root.openDB<string, number>({ name: "events", encoding: "string" });
    this.#meta = root.openDB<number, string>({ name: "meta", encoding: "json" });
  }

  /** Opens or makes the files below `folder` (mode 0700). Throws StoreOpenError, FolderError. */
  static async open(folder: string): Promise<ObjectDatabase> {
    await makeFolder(folder, 0o700);
    const unlock = await lockFolder(folder);
    try {
      const file = join(folder, "store.mdb");
      await checkFile(file);
      const root = open<string, string>({
        path: file,
        overlappingSync: false,
        // Every commit is one explicit batch. The implicit batches would reject a promise that nobody holds when the
        // disk is full, and Node ends a process for that.
        eventTurnBatching: false,
        encoding: "string",
        maxDbs: 8,
      });
      closeOnExec(file);
      const database = new ObjectDatabase(root, unlock);
      await syncFolders(folder);
      const format = database.#meta.get("format") ?? FORMAT;
      if (format > FORMAT) {
        await root.close();
        throw new StoreOpenError(
          "FutureFormat",
          `${folder} was written by a newer version (format ${format}, this one reads up to ${FORMAT}): upgrade Mooring, or use another folder`,
        );
      }
      return database;
    } catch (error) {
      await unlock();
      throw error;
    }
  }

  /** The most rows that one {@link scan} gives. */
  get scanSize(): number {
    return SCAN;
  }

  /** The revision of the last write; 1 in a new store, so that no object ever has "0", which means "any". */
  get revision(): number {
    return this.#meta.get("revision") ?? 1;
  }

  get(path: string): string | undefined {
    this.#checkOpen();
    return this.#objects.get(path);
  }

  /** The next objects of `[start, end)` in order of their paths, at most {@link SCAN} and `limit`. */
  scan(start: string, end: string, limit = SCAN): { path: string; json: string }[] {
    this.#checkOpen();
    const rows: { path: string; json: string }[] = [];
    for (const { key, value } of this.#objects.getRange({ start, end, limit: Math.min(limit, SCAN) })) {
      rows.push({ path: key, json: value });
    }
    return rows;
  }

  count(start: string, end: string): number {
    this.#checkOpen();
    return this.#objects.getKeysCount({ start, end });
  }

  /** Persisted events, oldest first. */
  *events(): Generator<{ revision: number; text: string }> {
    for (const { key, value } of this.#events.getRange({ start: 0 })) yield { revision: key, text: value };
  }

  /** Writes all of it in one transaction; resolves when it is on disk. Rejects when none of it was written. */
  async commit(
    events: readonly StoreEvent[],
    encode: (event: StoreEvent) => string,
    forget: readonly number[],
  ) {
    const written = this.#root.batch(() => {
      for (const event of events) {
        if (event.type === "DELETED") ignore(this.#objects.remove(event.path));
        else ignore(this.#objects.put(event.path, event.json));
        ignore(this.#events.put(event.revision, encode(event)));
      }
      for (const revision of forget) ignore(this.#events.remove(revision));
      ignore(this.#meta.put("format", FORMAT));
      ignore(this.#meta.put("revision", events.at(-1)?.revision ?? this.revision));
    });
    await written.catch(rethrowCause);
    // Reads of this tick may still look at the snapshot from before.
    this.#root.resetReadTxn();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#root.close();
    await this.#unlock();
  }

  /** Reading unmapped files would end the process. */
  #checkOpen(): void {
    if (this.#closed) throw new StatusError("ServiceUnavailable", "the store is closed");
  }
}

/** Where LMDB's first page says what it is, and how. */
const MAGIC_OFFSET = 24;
const MAGIC = 0xbeefc0de;

/** LMDB maps whatever is there into memory and would end the process over a file that is not its own. */
async function checkFile(path: string): Promise<void> {
  const head = Buffer.alloc(MAGIC_OFFSET + 4);
  try {
    const handle = await openFile(path, "r");
    try {
      const { bytesRead } = await handle.read(head, 0, head.length, 0);
      if (bytesRead === 0 || (bytesRead === head.length && head.readUInt32LE(MAGIC_OFFSET) === MAGIC)) return;
    } finally {
      await handle.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  throw new StoreOpenError("Damaged", `${path} is not a database: restore it, or move it away to begin anew`);
}

/** LMDB syncs its file, not the entry that leads to it: a power cut could take the whole new file. */
async function syncFolders(folder: string): Promise<void> {
  for (const path of [folder, dirname(resolve(folder))]) {
    const handle = await openFile(path, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }
}

/** lmdb-js says "Commit failed" and hands the reason, a moment later, through a promise of its own. */
async function rethrowCause(error: Error & { commitError?: Promise<never> }): Promise<never> {
  if (error.commitError !== undefined) await error.commitError;
  throw error;
}

/** The batch settles for all of its writes together. */
function ignore(promise: Promise<unknown>): void {
  promise.then(undefined, () => {});
}
