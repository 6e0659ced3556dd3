import { notFound } from "../object/errors.ts";
import type { ObjectKey, Resource } from "../object/resource.ts";
import { StatusError } from "../object/status-error.ts";
import type { ListOptions, WatchOptions } from "../object-store.ts";
import type { StoreReport } from "./check/check-store.ts";
import { ObjectDatabase } from "./database.ts";
import { type DecidedWrite, DecidedWrites, type Foundation } from "./decided.ts";
import type { DiskFault } from "./disk-faults.ts";
import { decodeEvent } from "./event.ts";
import type { Evidence } from "./files.ts";
import { History, type HistoryLimits } from "./history.ts";
import { type JsonList, listJson } from "./list.ts";
import { locate } from "./locate.ts";
import type { ResourceDefinition, ResourceRegistry } from "./registry.ts";
import { Selection } from "./selection.ts";
import { Timeline } from "./timeline.ts";
import { type JsonWatchEvent, watchJson } from "./watch.ts";
import type { OnLost } from "./whole-file.ts";
import { Writer } from "./writer.ts";
import { WritingStore } from "./writing-store.ts";

/** Where a store lies, what it serves, its clock and how much history it keeps. */
export interface LocalStoreOptions {
  /** Folder of the files; made when it is not there. */
  path: string;
  registry: ResourceRegistry;
  /** Milliseconds since the epoch; default `Date.now`. */
  clock?: () => number;
  history?: Partial<HistoryLimits>;
  /** What else there would be of an earlier store: then one whose file is missing is refused, and not made anew. */
  evidence?: Evidence;
  /** A file elsewhere that has how far the store has come, made when its folder is there and not empty: an older store is refused. Default: none. */
  newest?: string;
  /** Refuse new objects in namespaces that are not there or are being deleted; default false. */
  requireNamespaces?: boolean;
  /** Keep room on the disk (16 MiB) for changes and deletions when it is full; default false. */
  headroom?: boolean;
  /** Ends the process when the file was truncated under it; default: what reads it throws the error. */
  onLost?: OnLost;
}

/**
 * Kubernetes objects in an embedded database, by the rules of an API server. A write resolves when it is on disk;
 * what readers and watchers see is on disk, too. One process at a time.
 */
export class LocalStore extends WritingStore {
  readonly registry: ResourceRegistry;
  readonly #database: ObjectDatabase;
  readonly #history: History;
  readonly #timeline: Timeline;
  protected readonly writer: Writer;
  readonly #decided: DecidedWrites;
  /** See {@link LocalStoreOptions.requireNamespaces}. */
  readonly requireNamespaces: boolean;
  #closing: Promise<void> | undefined;

  private constructor(options: LocalStoreOptions, database: ObjectDatabase) {
    super();
    this.registry = options.registry;
    this.#database = database;
    const past = [...database.events()].map(({ revision, text }) => decodeEvent(revision, text));
    const limits = { events: 8_192, characters: 32_000_000, ...options.history };
    this.#history = new History(past, database.revision, limits);
    this.#timeline = new Timeline(database, this.#history);
    this.requireNamespaces = options.requireNamespaces ?? false;
    this.#decided = new DecidedWrites(this.#timeline, this.registry);
    this.writer = new Writer({
      log: this.#timeline,
      definition: (resource) => this.#definition(resource),
      clock: options.clock ?? Date.now,
      requireNamespaces: this.requireNamespaces,
    });
  }

  /** Throws StoreOpenError when another process has the folder, a newer version has written it, or it is damaged. */
  static async open(options: LocalStoreOptions): Promise<LocalStore> {
    return new LocalStore(options, await ObjectDatabase.open({ ...options, folder: options.path }));
  }

  /** The revision of the last write that readers see. */
  get resourceVersion(): string {
    return String(this.#timeline.revision);
  }

  /** Ends all watches, waits for the writes under way, and closes the files. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** What is wrong with the disk of the store, and what to do; undefined while it is well. */
  diskFault(fault: DiskFault): string | undefined {
    return this.#database.diskFault(fault);
  }

  /** What has been found to be damaged on disk since the store was opened, and the way out. */
  damage(): string | undefined {
    return this.#database.damage;
  }

  /** Bytes of the store's file. */
  get fileBytes(): number {
    return this.#database.fileBytes;
  }

  /** Copies the newest state to a file while reads and writes go on, and checks the copy. Throws StoreOpenError (Damaged). */
  copyTo(target: string): Promise<StoreReport> {
    return this.#database.copyTo(target);
  }

  async #close(): Promise<void> {
    this.#history.close();
    await this.#timeline.close();
    await this.#database.close();
  }

  /** Like `get`, as JSON. Throws NotFound. */
  getJson(resource: Resource, key: ObjectKey): string {
    const { definition, path } = locate(this.#definition(resource), resource, key);
    const json = this.#timeline.visible(path);
    if (json === undefined) throw notFound(resource, key.name);
    return new Selection(definition, resource, {}).present(json);
  }

  /** Like `list`, piece by piece and unparsed; never holds the event loop for long. */
  listJson(resource: Resource, options: ListOptions = {}): JsonList {
    const selection = new Selection(this.#definition(resource), resource, options);
    return listJson({ database: this.#database, timeline: this.#timeline }, selection, options);
  }

  /** Like `watch`, unparsed. */
  watchJson(resource: Resource, options: WatchOptions): AsyncGenerator<JsonWatchEvent, void> {
    const selection = new Selection(this.#definition(resource), resource, options);
    const source = { database: this.#database, timeline: this.#timeline, history: this.#history };
    return watchJson(source, selection, resource, options);
  }

  /** What the next write of the object at this path builds on, for a thread that decides writes. */
  latestJson(path: string): string | undefined {
    return this.#timeline.latest(path);
  }

  /** See {@link DecidedWrites.write}. */
  writeDecided(decided: DecidedWrite, founded: Foundation): Promise<string | undefined> {
    return this.#decided.write(decided, founded);
  }

  /** Resolves when every write that was decided so far is on disk. */
  settled(): Promise<void> {
    return this.#timeline.settled();
  }

  #definition(resource: Resource): ResourceDefinition {
    if (this.#history.closed) throw new StatusError("ServiceUnavailable", "the store is closed");
    return this.registry.get(resource);
  }
}
