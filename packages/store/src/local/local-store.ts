import { randomUUID } from "node:crypto";
import { Namespaces } from "../kinds/kubernetes.ts";
import { defined } from "../object/defined.ts";
import { alreadyExists, badRequest, namespaceTerminating, notFound } from "../object/errors.ts";
import type { KubeObject, UnstructuredObject } from "../object/meta.ts";
import { groupResource, type ObjectKey, type Resource } from "../object/resource.ts";
import { StatusError } from "../object/status-error.ts";
import type {
  DeleteOptions,
  ListOptions,
  ListResult,
  ObjectStore,
  Patch,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from "../object-store.ts";
import type { StoreReport } from "./check/check-store.ts";
import { ObjectDatabase } from "./database.ts";
import { decodeEvent, pathOf, rangeOf } from "./event.ts";
import type { Evidence } from "./files.ts";
import { History, type HistoryLimits } from "./history.ts";
import { type JsonList, listJson } from "./list.ts";
import type { ResourceDefinition, ResourceRegistry } from "./registry.ts";
import { type Decision, type RuleContext, timestamp } from "./rules/context.ts";
import { checkName, decideCreate, generatedName, normalized } from "./rules/create.ts";
import { decideDelete } from "./rules/delete.ts";
import { patched, unsupportedPatch } from "./rules/patch.ts";
import { decideUpdate } from "./rules/update.ts";
import { inVersion, Selection } from "./selection.ts";
import { Timeline } from "./timeline.ts";
import { type JsonWatchEvent, watchJson } from "./watch.ts";

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
  /** Refuse new objects in namespaces that are not there or are being deleted; default false. */
  requireNamespaces?: boolean;
}

interface Located {
  definition: ResourceDefinition;
  resource: Resource;
  key: ObjectKey;
  path: string;
}

/** What the store's callers may ask of one write beyond the rules of its kind. */
export interface AdmittedWrite {
  /**
   * Sees what is about to be stored and what is there now, in the storage version, in the same turn as the write; what it
   * throws refuses it. Also asked in a dry run, and where nothing would change, as the response shows the object; not asked
   * for an object that goes away.
   */
  admit?(next: UnstructuredObject, old: UnstructuredObject | undefined): void;
}

/**
 * Kubernetes objects in an embedded database, by the rules of an API server. A write resolves when it is on disk;
 * what readers and watchers see is on disk, too. One process at a time.
 */
export class LocalStore implements ObjectStore {
  readonly registry: ResourceRegistry;
  readonly #database: ObjectDatabase;
  readonly #history: History;
  readonly #timeline: Timeline;
  readonly #clock: () => number;
  readonly #requireNamespaces: boolean;
  #closing: Promise<void> | undefined;

  private constructor(options: LocalStoreOptions, database: ObjectDatabase) {
    this.registry = options.registry;
    this.#clock = options.clock ?? Date.now;
    this.#requireNamespaces = options.requireNamespaces ?? false;
    this.#database = database;
    const past = [...database.events()].map(({ revision, text }) => decodeEvent(revision, text));
    const limits = { events: 8_192, characters: 32_000_000, ...options.history };
    this.#history = new History(past, database.revision, limits);
    this.#timeline = new Timeline(database, this.#history);
  }

  /** Throws StoreOpenError when another process has the folder, a newer version has written it, or it is damaged. */
  static async open(options: LocalStoreOptions): Promise<LocalStore> {
    return new LocalStore(options, await ObjectDatabase.open(options.path, options.evidence));
  }

  /** The revision of the last write that readers see. */
  get resourceVersion(): string {
    return String(this.#timeline.revision);
  }

  /** Ends all watches, waits for the writes under way, and lets go of the files. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
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

  async get<T extends KubeObject>(resource: Resource<T>, key: ObjectKey): Promise<T> {
    return JSON.parse(this.getJson(resource, key)) as T;
  }

  /** Like `get`, as JSON. Throws NotFound. */
  getJson(resource: Resource, key: ObjectKey): string {
    const { definition, path } = this.#locate(resource, key);
    const json = this.#timeline.visible(path);
    if (json === undefined) throw notFound(resource, key.name);
    return new Selection(definition, resource, {}).present(json);
  }

  async list<T extends KubeObject>(resource: Resource<T>, options: ListOptions = {}): Promise<ListResult<T>> {
    const { resourceVersion, pages } = this.listJson(resource, options);
    const items: T[] = [];
    for (;;) {
      const page = await pages.next();
      if (page.done) return { items, resourceVersion, ...page.value };
      for (const json of page.value) items.push(JSON.parse(json) as T);
    }
  }

  /** Like `list`, piece by piece and unparsed; never holds the event loop for long. */
  listJson(resource: Resource, options: ListOptions = {}): JsonList {
    const selection = new Selection(this.#definition(resource), resource, options);
    return listJson({ database: this.#database, timeline: this.#timeline }, selection, options);
  }

  async *watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>, void> {
    for await (const { type, json } of this.watchJson(resource, options)) {
      yield { type, object: JSON.parse(json) as T };
    }
  }

  /** Like `watch`, unparsed. */
  watchJson(resource: Resource, options: WatchOptions): AsyncGenerator<JsonWatchEvent, void> {
    const selection = new Selection(this.#definition(resource), resource, options);
    const source = { database: this.#database, timeline: this.#timeline, history: this.#history };
    return watchJson(source, selection, resource, options);
  }

  create<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    options: WriteOptions & AdmittedWrite = {},
  ): Promise<T> {
    return this.#settled(() => this.#create(resource, object, options));
  }

  update<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    options: WriteOptions & AdmittedWrite = {},
  ): Promise<T> {
    return this.#settled(() => this.#replace<T>(resource, plain(object), options));
  }

  updateStatus<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    options: WriteOptions & AdmittedWrite = {},
  ): Promise<T> {
    return this.#settled(() => this.#replace<T>(resource, plain(object), options, "status"));
  }

  patch<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    patch: Patch,
    options: WriteOptions & AdmittedWrite & { subresource?: string } = {},
  ): Promise<T> {
    return this.#settled(() => this.#patch(resource, key, patch, options));
  }

  delete<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    options: DeleteOptions = {},
  ): Promise<T> {
    return this.#settled(async () => {
      const at = this.#locate(resource, key);
      const current = this.#current(at);
      const decision = decideDelete(current, options, this.#context(at, options), this.#clock());
      return this.#carryOut<T>(at, decision, options);
    });
  }

  /**
   * A refusal is thrown when what it is founded on can be read: whoever meets a conflict and reads again would else see the
   * object from before, and meet the same conflict until the disk has caught up.
   */
  async #settled<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write();
    } catch (error) {
      await this.#timeline.settled().catch(() => {});
      throw error;
    }
  }

  #create<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    options: WriteOptions & AdmittedWrite,
  ): Promise<T> {
    const definition = this.#definition(resource);
    const input = plain(object);
    const name = this.#newName(resource, input);
    const at = this.#locate(resource, keyFor(definition, input.metadata.namespace, name));
    if (this.#timeline.latest(at.path) !== undefined) throw alreadyExists(resource, name);
    this.#checkNamespace(at);
    const stored = inVersion(definition, input, definition.resource);
    return this.#carryOut<T>(
      at,
      decideCreate(stored, at.key, randomUUID(), this.#context(at, options)),
      options,
    );
  }

  #patch<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    patch: Patch,
    options: WriteOptions & AdmittedWrite & { subresource?: string },
  ): Promise<T> {
    const at = this.#locate(resource, key);
    if (patch.type === "apply") return this.#apply<T>(at, patch, options);
    const current = this.#current(at);
    const shown = inVersion(at.definition, structuredClone(current), resource);
    const wanted = inVersion(
      at.definition,
      plain(patched(shown, patch, at.definition.strategy)),
      at.definition.resource,
    );
    this.#checkKey(at, wanted);
    const context = this.#context(at, options, options.subresource);
    return this.#carryOut<T>(at, decideUpdate(wanted, current, context), options);
  }

  #replace<T>(
    resource: Resource,
    input: UnstructuredObject,
    options: WriteOptions & AdmittedWrite,
    subresource?: string,
  ): Promise<T> {
    const definition = this.#definition(resource);
    const at = this.#locate(resource, keyFor(definition, input.metadata.namespace, input.metadata.name));
    const current = this.#current(at);
    const wanted = inVersion(definition, input, definition.resource);
    return this.#carryOut<T>(
      at,
      decideUpdate(wanted, current, this.#context(at, options, subresource)),
      options,
    );
  }

  #apply<T>(
    at: Located,
    patch: Extract<Patch, { type: "apply" }>,
    options: WriteOptions & AdmittedWrite & { subresource?: string },
  ): Promise<T> {
    const { definition } = at;
    if (definition.strategy?.apply === undefined) throw unsupportedPatch();
    if (!options.fieldManager) throw badRequest("fieldManager is required for apply patch");
    const exists = this.#timeline.latest(at.path) !== undefined;
    if (!exists && options.subresource !== undefined) throw notFound(at.resource, at.key.name);
    if (!exists) this.#checkNamespace(at);
    const context = this.#context(at, options, options.subresource);
    const current = exists ? this.#current(at) : undefined;
    const body = plain(patch.body as KubeObject);
    this.#checkKey(at, body);
    const applied = definition.strategy.apply(
      current === undefined ? undefined : structuredClone(current),
      inVersion(definition, body, definition.resource),
      {
        manager: options.fieldManager,
        force: patch.force ?? false,
        time: context.now,
        ...defined({ subresource: options.subresource }),
      },
    );
    if (current !== undefined)
      return this.#carryOut<T>(at, decideUpdate(applied, current, context, true), options);
    const { fieldManager: _tracked, ...untracked } = context;
    return this.#carryOut<T>(at, decideCreate(applied, at.key, randomUUID(), untracked), options);
  }

  /** Makes the decision true and returns the object as it is then. Synchronous up to the wait for the disk. */
  async #carryOut<T>(
    at: Located,
    { action, object }: Decision,
    options: { dryRun?: boolean } & AdmittedWrite,
  ): Promise<T> {
    const previous = this.#timeline.latest(at.path);
    let result = object;
    if (action !== "remove")
      options.admit?.(
        object,
        previous === undefined ? undefined : (JSON.parse(previous) as UnstructuredObject),
      );
    if (options.dryRun !== true && action === "keep") await this.#timeline.settled();
    if (options.dryRun !== true && action !== "keep") {
      const revision = this.#timeline.nextRevision();
      result = normalized(object, at.key, at.definition.resource);
      result.metadata.resourceVersion = String(revision);
      const json = JSON.stringify(result);
      const type = action === "remove" ? "DELETED" : previous === undefined ? "ADDED" : "MODIFIED";
      const collection = groupResource(at.resource);
      await this.#timeline.write({ revision, type, collection, path: at.path, json, previous });
      result = JSON.parse(json) as UnstructuredObject;
    }
    return inVersion(at.definition, result, at.resource) as unknown as T;
  }

  #definition(resource: Resource): ResourceDefinition {
    if (this.#history.closed) throw new StatusError("ServiceUnavailable", "the store is closed");
    return this.registry.get(resource);
  }

  #locate(resource: Resource, key: ObjectKey): Located {
    const definition = this.#definition(resource);
    const checked = keyFor(definition, key.namespace, key.name);
    const path = pathOf(groupResource(resource), checked.namespace, checked.name);
    return { definition, resource, key: checked, path };
  }

  /** The object that the next write builds on, in the storage version. */
  #current(at: Located): UnstructuredObject {
    const json = this.#timeline.latest(at.path);
    if (json === undefined) throw notFound(at.resource, at.key.name);
    return inVersion(at.definition, JSON.parse(json) as UnstructuredObject, at.definition.resource);
  }

  #lookup(resource: Resource, key: ObjectKey): UnstructuredObject | undefined {
    const json = this.#timeline.latest(pathOf(groupResource(resource), key.namespace, key.name));
    return json === undefined ? undefined : (JSON.parse(json) as UnstructuredObject);
  }

  #newName(resource: Resource, input: UnstructuredObject): string {
    const { name, generateName, namespace } = input.metadata;
    if (name || !generateName) return checkName(resource, name);
    for (;;) {
      const candidate = checkName(resource, generatedName(generateName, Math.random));
      const { path } = this.#locate(resource, { ...(namespace ? { namespace } : {}), name: candidate });
      if (this.#timeline.latest(path) === undefined) return candidate;
    }
  }

  /** Also for writers inside the process: what they make in a namespace after its clean-up would stay for ever. */
  #checkNamespace({ resource, key }: Located): void {
    if (!this.#requireNamespaces || key.namespace === undefined) return;
    const json = this.#timeline.latest(pathOf("namespaces", undefined, key.namespace));
    if (json === undefined) throw notFound(Namespaces, key.namespace);
    const { metadata } = JSON.parse(json) as KubeObject;
    if (metadata.deletionTimestamp !== undefined) throw namespaceTerminating(resource, key);
  }

  #checkKey(at: Located, object: UnstructuredObject): void {
    const { name = at.key.name, namespace = at.key.namespace } = object.metadata;
    if (name !== at.key.name) {
      throw badRequest(
        `the name of the object (${name}) does not match the name on the URL (${at.key.name})`,
      );
    }
    if (at.key.namespace !== undefined && namespace !== at.key.namespace) {
      throw badRequest(
        "the namespace of the provided object does not match the namespace sent on the request",
      );
    }
  }

  #context(at: Located, options: WriteOptions, subresource?: string): RuleContext {
    return {
      definition: at.definition,
      dryRun: options.dryRun ?? false,
      now: timestamp(this.#clock()),
      lookup: (resource, key) => this.#lookup(resource, key),
      collect: (resource, namespace, of) =>
        this.#timeline.collections.collect(rangeOf(groupResource(resource), namespace), of),
      ...defined({ subresource, fieldManager: options.fieldManager }),
    };
  }
}

/** Plain JSON, the store's own: undefined fields are gone and nothing is shared with the caller. */
function plain(object: KubeObject): UnstructuredObject {
  if (typeof object !== "object" || object === null) throw badRequest("the object is not a JSON object");
  const copy = JSON.parse(JSON.stringify(object)) as UnstructuredObject;
  copy.metadata ??= {} as UnstructuredObject["metadata"];
  return copy;
}

function keyFor(definition: ResourceDefinition, namespace: string | undefined, name: string): ObjectKey {
  checkName(definition.resource, name);
  if (!definition.resource.namespaced) return { name };
  if (namespace === undefined || namespace === "") {
    throw badRequest("an empty namespace may not be set when a namespaced object is named");
  }
  checkName(definition.resource, namespace);
  return { namespace, name };
}
