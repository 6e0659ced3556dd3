import { statSync } from "node:fs";
import type { Database, RootDatabase } from "lmdb";
import { insufficientStorage, notWritable } from "../object/errors.ts";
import { StatusError } from "../object/status-error.ts";
import { makeFolder } from "../runtime/make-folder.ts";
import type { StoreReport } from "./check/check-store.ts";
import { copyStore } from "./copies/copy-pages.ts";
import { DISK_FAULTS, type DiskFault } from "./disk-faults.ts";
import type { StoreEvent } from "./event.ts";
import { type Evidence, finishFiles, inspectFiles, storeFile } from "./files.ts";
import { Headroom } from "./headroom.ts";
import { lockFolder } from "./lock.ts";
import { NewestRevision } from "./newest-revision.ts";
import { openRoot } from "./open-root.ts";
import { checksum, decodeSeal, encodeSeal, FORMAT, type Seal, sealed, unsealed } from "./seal.ts";
import { type OnLost, WholeFile } from "./whole-file.ts";

/** Objects of one scan, after which others have their turn. */
const SCAN_OBJECTS = 256;
/** A scan ends with the object that makes it longer than so many characters: each is copied and has its checksum compared. */
const SCAN_CHARACTERS = 262_144;

/** More than a store can have written since a copy of it was made. */
const REVISIONS_AHEAD = 1_000_000_000;

/** Where a database lies. */
export interface DatabaseOptions {
  /** Made with mode 0700 when it is not there. */
  folder: string;
  /** What else there is of a store that was here, which a new one must not take the place of. */
  evidence?: Evidence;
  /** A file elsewhere that has how far the store has come: an older one is refused. Default: none. */
  newest?: string;
  /** Keep {@link Headroom}; default false. */
  headroom?: boolean;
  /** Ends the process when the file was truncated; default: what reads it throws the error. */
  onLost?: OnLost;
}

/** A piece of the objects. */
export interface Scan {
  rows: { path: string; json: string }[];
  next: string | undefined;
}

/**
 * The files of a store: objects by path, events by revision. Writes become visible to reads when they are on disk
 * and not before (`overlappingSync: false`; docs/decisions/0001-durable-group-commit.md).
 */
export class ObjectDatabase {
  readonly #folder: string;
  readonly #root: RootDatabase<string, string>;
  readonly #objects: Database<string, string>;
  readonly #events: Database<string, number>;
  readonly #meta: Database<number | string, string>;
  readonly #unlock: () => Promise<void>;
  readonly #headroom: Headroom;
  readonly #file: WholeFile;
  readonly #newest: NewestRevision | undefined;
  #closed = false;

  #seal: Seal = { format: FORMAT, revision: 1, objects: 0, sum: 0 };

  private constructor(
    { folder, newest, headroom = false, onLost }: DatabaseOptions,
    root: RootDatabase<string, string>,
    unlock: () => Promise<void>,
  ) {
    this.#folder = folder;
    this.#root = root;
    this.#unlock = unlock;
    this.#headroom = new Headroom(storeFile(folder), headroom);
    this.#file = new WholeFile(storeFile(folder), onLost);
    this.#newest = newest === undefined ? undefined : new NewestRevision(newest);
    this.#objects = root.openDB({ name: "objects", encoding: "string" });
    this.#events = root.openDB<string, number>({ name: "events", encoding: "string" });
    this.#meta = root.openDB<number | string, string>({ name: "meta", encoding: "json" });
  }

  /** Opens or makes the files, every page and value of them checked before. Throws StoreOpenError, FolderError. */
  static async open(options: DatabaseOptions): Promise<ObjectDatabase> {
    const { folder } = options;
    await makeFolder(folder, 0o700);
    const unlock = await lockFolder(folder);
    let root: RootDatabase<string, string> | undefined;
    try {
      const format = await inspectFiles(folder, options);
      // LMDB makes a new store's files, and ends the process where they do not fit.
      if (format === undefined) requireRoom(folder);
      root = openRoot(folder);
      const database = new ObjectDatabase(options, root, unlock);
      await database.#begin(format);
      await finishFiles(folder);
      if (database.diskFull() === undefined) await database.#headroom.extend();
      return database;
    } catch (error) {
      await root?.close();
      await unlock();
      throw error;
    }
  }

  /** Reads the seal; of a new store it writes the first one, of an older format all values anew, in one transaction. */
  async #begin(format: number | undefined): Promise<void> {
    // Of another store, that was here before this one.
    if (format === undefined) await this.#reach(0);
    await this.#beginFrom(format);
    await this.#reach(this.#seal.revision);
  }

  async #reach(revision: number): Promise<void> {
    this.#newest?.note(revision);
    await this.#newest?.settled();
  }

  async #beginFrom(format: number | undefined): Promise<void> {
    if (format === FORMAT) {
      this.#seal = decodeSeal(String(this.#meta.get("seal"))) ?? this.#seal;
      return;
    }
    const objects = [...this.#objects.getRange({})];
    const events = [...this.#events.getRange({ start: 0 })];
    const sums = objects.map(({ key, value }) => checksum(key, value));
    const seal: Seal = {
      format: FORMAT,
      revision: Number(this.#meta.get("revision") ?? 1),
      objects: objects.length,
      sum: sums.reduce((total, sum) => total + sum, 0),
    };
    this.#checkRoom();
    await this.#batch(() => {
      for (const [index, { key, value }] of objects.entries())
        ignore(this.#objects.put(key, sealed(value, sums[index] ?? 0)));
      for (const { key, value } of events) ignore(this.#events.put(key, sealed(value, checksum(key, value))));
      ignore(this.#meta.put("format", FORMAT));
      ignore(this.#meta.remove("revision"));
      ignore(this.#meta.put("seal", encodeSeal(seal)));
    });
    this.#seal = seal;
  }

  /** The revision of the last write; 1 in a new store, so that no object ever has "0", which means "any". */
  get revision(): number {
    return this.#seal.revision;
  }

  /** Throws InternalError when the value has been damaged since the store was opened. */
  get(path: string): string | undefined {
    this.#checkOpen();
    const value = this.#file.reading(() => this.#objects.get(path));
    return value === undefined ? undefined : this.#opened(path, value);
  }

  /**
   * The next objects of `[start, end)` in order of their paths, at most `limit`, and not many characters; `next` is where to
   * go on, undefined at the end.
   */
  scan(start: string, end: string, limit = SCAN_OBJECTS): Scan {
    this.#checkOpen();
    return this.#file.reading(() => this.#scan(start, end, limit));
  }

  #scan(start: string, end: string, limit: number): Scan {
    const rows: Scan["rows"] = [];
    const most = Math.min(limit, SCAN_OBJECTS);
    let characters = 0;
    for (const { key, value } of this.#objects.getRange({ start, end, limit: most })) {
      rows.push({ path: key, json: this.#opened(key, value) });
      characters += value.length;
      if (rows.length === most || characters >= SCAN_CHARACTERS) return { rows, next: `${key}\0` };
    }
    return { rows, next: undefined };
  }

  count(start: string, end: string): number {
    this.#checkOpen();
    return this.#file.reading(() => this.#objects.getKeysCount({ start, end }));
  }

  /** Persisted events, oldest first. */
  *events(): Generator<{ revision: number; text: string }> {
    for (const { key, value } of this.#events.getRange({ start: 0 }))
      yield { revision: key, text: this.#opened(key, value) };
  }

  /** Writes all of it in one transaction; resolves when it is on disk. Rejects when none of it was written. */
  async commit(
    events: readonly StoreEvent[],
    encode: (event: StoreEvent) => string,
    forget: readonly number[],
  ) {
    const seal = { ...this.#seal };
    this.#checkRoom(events);
    await this.#batch(() => {
      for (const event of events) {
        this.#write(event, seal);
        const text = encode(event);
        ignore(this.#events.put(event.revision, sealed(text, checksum(event.revision, text))));
      }
      for (const revision of forget) ignore(this.#events.remove(revision));
      ignore(this.#meta.put("seal", encodeSeal(seal)));
    });
    this.#seal = seal;
    this.#newest?.note(seal.revision);
    if (this.diskFull() === undefined) void this.#headroom.extend();
  }

  /**
   * Throws InsufficientStorage when the disk is full, and these writes are none that it takes all the same, and InternalError
   * when it cannot be written to: a transaction that fails in LMDB may end the process.
   */
  #checkRoom(events: readonly StoreEvent[] = []): void {
    const full = this.diskFull();
    if (full !== undefined && !this.#headroom.takes(events)) throw insufficientStorage(full);
    const unwritable = this.diskFault("unwritable");
    if (unwritable !== undefined) throw notWritable(unwritable);
  }

  /** One object's write, and what it does to the seal. */
  #write({ type, path, json, previous, revision }: StoreEvent, seal: Seal): void {
    seal.revision = revision;
    if (previous !== undefined) {
      seal.sum -= checksum(path, previous);
      seal.objects -= 1;
    }
    if (type === "DELETED") {
      ignore(this.#objects.remove(path));
      return;
    }
    const sum = checksum(path, json);
    seal.sum += sum;
    seal.objects += 1;
    ignore(this.#objects.put(path, sealed(json, sum)));
  }

  /** One transaction; resolves when it is on disk and reads see it. */
  async #batch(write: () => void): Promise<void> {
    this.#file.requireLength();
    await this.#root
      .batch(write)
      .catch(rethrowCause)
      .catch((error: unknown) => {
        throw this.#file.found(error);
      });
    // Reads of this tick may still read the snapshot from before.
    this.#root.resetReadTxn();
  }

  /** Why nothing can be written now; undefined while the disk has room. */
  diskFull(): string | undefined {
    return this.diskFault("full");
  }

  /** What is wrong with the disk, and what to do; undefined while it is well. */
  diskFault(fault: DiskFault): string | undefined {
    return DISK_FAULTS[fault](this.#folder);
  }

  /** What has been found to be damaged since the store was opened, and the way out. */
  get damage(): string | undefined {
    return this.#file.damage;
  }

  /** Bytes of the file. */
  get fileBytes(): number {
    return statSync(storeFile(this.#folder)).size;
  }

  /** A copy of the newest state, whatever is written meanwhile; see `copyStore`. */
  async copyTo(target: string): Promise<StoreReport> {
    this.#checkOpen();
    const reader = this.#root.useReadTransaction();
    try {
      return await copyStore(storeFile(this.#folder), target);
    } catch (error) {
      throw this.#file.found(error);
    } finally {
      reader.done();
    }
  }

  /**
   * After an older state has come back: revisions go on above all that a client can have seen, and no watch can go on from
   * one of them. Else a client that was further would never learn of the writes up to where it was.
   */
  async beginAnew(): Promise<void> {
    const events = [...this.#events.getKeys({ start: 0 })];
    const seal = { ...this.#seal, revision: this.#seal.revision + REVISIONS_AHEAD };
    this.#checkRoom();
    await this.#batch(() => {
      for (const revision of events) ignore(this.#events.remove(revision));
      ignore(this.#meta.put("seal", encodeSeal(seal)));
    });
    this.#seal = seal;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#root.close();
    await this.#newest?.settled();
    this.#file.close();
    await this.#unlock();
  }

  /** A value without its checksum. The file was whole when it was opened: the disk has changed it since. */
  #opened(key: string | number, value: string): string {
    const text = unsealed(key, value);
    if (text !== undefined) return text;
    throw this.#file.damaged(`${key} is not as it was written`);
  }

  /** Reading unmapped files would end the process. */
  #checkOpen(): void {
    if (this.#closed) throw new StatusError("ServiceUnavailable", "the store is closed");
  }
}

function requireRoom(folder: string): void {
  const full = DISK_FAULTS.full(folder);
  if (full !== undefined) throw insufficientStorage(full);
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
