import { insufficientStorage } from "../object/errors.ts";
import { groupResource } from "../object/resource.ts";
import { isStatus, StatusError } from "../object/status-error.ts";
import { Collections, type PathRange } from "./collections.ts";
import type { ObjectDatabase, Scan } from "./database.ts";
import { encodeEvent, rangeOf, type StoreEvent } from "./event.ts";
import type { History } from "./history.ts";
import type { StrategyContext } from "./registry.ts";
import type { Change, WriteLog } from "./write-log.ts";

interface Staged {
  /** What the object will be; undefined when it will be gone. */
  json: string | undefined;
  /** What readers still see. */
  visible: string | undefined;
  revision: number;
}

/** Handing a transaction to the disk's thread takes this one a few microseconds per event: no client should notice. */
const MAX_EVENTS = 512;

/**
 * Each transaction keeps the next from the disk for as long as its own takes, so a write for which no caller waits goes with
 * the next other one, or so many milliseconds later without one. Events are such: they are there sooner than a user can ask
 * for the events of what they have just seen.
 */
const PATIENCE_MS = 25;

interface Commit {
  events: StoreEvent[];
  settle: Promise<void>;
  /** Ends the patience with what it contains. */
  hurry(): void;
}

/**
 * The order of writes. A write is decided at once, against all writes decided before it (`staged`), and becomes
 * visible when it is on disk. While one transaction is being written the next collects: that is the group commit.
 */
export class Timeline implements WriteLog {
  /** What rules about many objects have collected. */
  readonly collections: Collections = new Collections((range) => this.#latestIn(range));
  readonly #database: ObjectDatabase;
  readonly #history: History;
  readonly #staged = new Map<string, Staged>();
  /** Decided and not yet visible, in order of revision. */
  #pending: StoreEvent[] = [];
  #lastDecided: number;
  #visible: number;
  #next: Commit | undefined;
  #running: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(database: ObjectDatabase, history: History) {
    this.#database = database;
    this.#history = history;
    this.#visible = database.revision;
    this.#lastDecided = this.#visible;
  }

  /** The newest revision that is on disk: what readers see. */
  get revision(): number {
    return this.#visible;
  }

  /** What the next write has to build on. */
  latest(path: string): string | undefined {
    const staged = this.#staged.get(path);
    return staged === undefined ? this.#database.get(path) : staged.json;
  }

  /** What readers see. */
  visible(path: string): string | undefined {
    const staged = this.#staged.get(path);
    return staged === undefined ? this.#database.get(path) : staged.visible;
  }

  *#latestIn({ start, end }: PathRange): Generator<{ path: string; json: string }> {
    for (let from: string | undefined = start; from !== undefined; ) {
      const { rows, next }: Scan = this.#database.scan(from, end);
      for (const row of rows) if (!this.#staged.has(row.path)) yield row;
      from = next;
    }
    for (const [path, { json }] of this.#staged)
      if (json !== undefined && path >= start && path < end) yield { path, json };
  }

  nextRevision(): number {
    return this.#lastDecided + 1;
  }

  /** See {@link StrategyContext.collect}. */
  readonly collect: NonNullable<StrategyContext["collect"]> = (resource, namespace, of) =>
    this.collections.collect(rangeOf(groupResource(resource), namespace), of);

  /** Nothing changes in the turn of a decision. */
  attempt<T>(write: () => Promise<T>): Promise<T> {
    return write();
  }

  /** The rules have asked {@link Timeline.collect} themselves. */
  async rehearse(): Promise<void> {}

  async commit({ type, resource, path, object }: Change, options: { patient?: boolean }): Promise<string> {
    const revision = this.nextRevision();
    object.metadata.resourceVersion = String(revision);
    const json = JSON.stringify(object);
    const previous = this.latest(path);
    await this.write({ revision, type, collection: groupResource(resource), path, json, previous }, options);
    return json;
  }

  /** Events after `revision`, those that are not visible yet included: what must be undone to see that revision. */
  since(collection: string, revision: number): StoreEvent[] {
    const pending = this.#pending.filter((event) => event.collection === collection);
    return [...this.#history.after(collection, revision), ...pending];
  }

  /**
   * Takes the write in; resolves when it is on disk. `event.revision` must be {@link nextRevision}. `patient`: begins no
   * transaction of its own for some milliseconds.
   */
  write(event: StoreEvent, { patient = false }: { patient?: boolean } = {}): Promise<void> {
    if (this.#closed) return Promise.reject(notStored("the store is closed"));
    // Refused alone: what it would share a transaction with may be what makes room.
    const full = event.type === "ADDED" ? this.#database.diskFull() : undefined;
    if (full !== undefined) return Promise.reject(insufficientStorage(full));
    const visible = this.visible(event.path);
    const json = event.type === "DELETED" ? undefined : event.json;
    this.#staged.set(event.path, { json, visible, revision: event.revision });
    this.#lastDecided = event.revision;
    this.#pending.push(event);
    this.collections.wrote(event.path, json);
    let commit = this.#next;
    if (commit === undefined || commit.events.length >= MAX_EVENTS) {
      commit?.hurry();
      commit = this.#begin(patient);
    }
    this.#next = commit;
    commit.events.push(event);
    if (!patient) commit.hurry();
    return commit.settle;
  }

  /** Resolves when everything decided so far is on disk. */
  settled(): Promise<void> {
    this.#next?.hurry();
    return this.#next?.settle ?? this.#running;
  }

  /** Refuses new writes and resolves when the old ones are done. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.settled().catch(() => {});
  }

  /** A transaction that starts when the one before it is done, and its patience is over; until then writes join it. */
  #begin(patient: boolean): Commit {
    const patience = patient ? endable(PATIENCE_MS) : undefined;
    const hurry = () => patience?.end();
    const commit: Commit = { events: [], settle: Promise.resolve(), hurry };
    commit.settle = this.#running
      .catch(() => {})
      .then(() => patience?.over)
      .then(() => {
        if (this.#next === commit) this.#next = undefined;
        return this.#commit(commit.events);
      });
    this.#running = commit.settle;
    commit.settle.catch(() => {});
    return commit;
  }

  async #commit(events: StoreEvent[]): Promise<void> {
    if (events[0]?.revision !== this.#visible + 1) {
      throw notStored("a write before this one was lost");
    }
    const surplus = this.#history.surplus(events.length);
    try {
      await this.#database.commit(
        events,
        encodeEvent,
        surplus.map((event) => event.revision),
      );
    } catch (error) {
      this.#forgetPending();
      throw notStored(error);
    }
    this.#history.drop(surplus);
    this.#publish(events);
  }

  #publish(events: StoreEvent[]): void {
    this.#pending.splice(0, events.length);
    for (const event of events) {
      this.#visible = event.revision;
      const staged = this.#staged.get(event.path);
      if (staged?.revision === event.revision) this.#staged.delete(event.path);
      else if (staged !== undefined) staged.visible = event.type === "DELETED" ? undefined : event.json;
      this.#history.push(event);
    }
  }

  /** The disk refused: whatever was decided on top of the lost writes is lost with them. */
  #forgetPending(): void {
    this.#staged.clear();
    this.collections.clear();
    this.#pending = [];
    this.#lastDecided = this.#visible;
    // The transaction that collects now begins with a lost revision and will fail; new writes must not join it.
    this.#next = undefined;
  }
}

/** A time that can be ended earlier. */
function endable(milliseconds: number): { over: Promise<void>; end(): void } {
  let end = () => {};
  const over = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    end = () => {
      clearTimeout(timer);
      resolve();
    };
  });
  return { over, end: () => end() };
}

/** By the system's error number, which is what lmdb-js gives. LMDB makes an EIO of a write that only half fits. */
const DISK_FAILURE: Readonly<Record<number, string>> = {
  5: "input/output error, or no space left on the device that holds the store",
};

function notStored(cause: unknown): StatusError {
  if (isStatus(cause)) return cause;
  const code = cause instanceof Error && "code" in cause ? Number(cause.code) : 0;
  const why = DISK_FAILURE[code] ?? String(cause);
  return new StatusError("InternalError", `Internal error occurred: the write was not stored: ${why}`);
}
