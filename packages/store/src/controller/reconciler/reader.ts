import type { KubeObject } from "../../object/meta.ts";
import { keyOf, type ObjectKey, type Resource } from "../../object/resource.ts";
import { isNotFound } from "../../object/status-error.ts";
import type { ListOptions, ListResult, ObjectStore } from "../../object-store.ts";
import { matchesLabels, parseLabelSelector } from "../../select/label-selector.ts";
import type { Informer } from "../informer.ts";

/** A cached collection as it is read: an informer is one. */
export interface Collection<T> {
  /** `key` is `namespace/name`, or `name` for cluster-scoped kinds. */
  get(key: string): T | undefined;
  list(): T[];
  byIndex(name: string, value: string): T[];
}

/** An informer, or a cache in front of one that may be ahead of it, for instance by the results of our own writes. */
export type Cached<T extends KubeObject> = Informer<T> | (Collection<T> & { readonly informer: Informer<T> });

/** Reads, and records what it has read. Good for one `read`. */
export interface Reader {
  /**
   * The collection, noting what is asked for: an object, also one that is not there; what has a value in an index; or
   * the whole list. With `of` the results are what it makes of each object, and only a change of that counts: use one
   * where an object changes all the time in ways that do not matter. `of` is pure and declared once, at module level.
   */
  over<T extends KubeObject>(cached: Cached<T>): Collection<T>;
  over<T extends KubeObject, P>(cached: Cached<T>, of: (object: T) => P): Collection<P>;
  /** Reads from the store itself. Kinds that the controller does not watch are refused: no event would report a change. */
  readonly store: Pick<ObjectStore, "get" | "list">;
  /**
   * What `of` makes of one object in the store, or undefined when it is not there: as with a collection, only a change
   * of that counts. For one part of an object that many keys read, each its own.
   */
  get<T extends KubeObject, P>(
    resource: Resource<T>,
    key: ObjectKey,
    of: (object: T) => P,
    signal?: AbortSignal,
  ): Promise<P | undefined>;
  /** Records something that is no object; `Reconciler.changed(topic)` reports that it has changed. */
  topic(topic: string): void;
}

/** The part of an object that a decision depends on: the key is asked for again only when this changes. */
// biome-ignore lint/suspicious/noExplicitAny: projections of all kinds in one map; each is only given its own objects
export type Projection = (object: any) => unknown;

/**
 * What a live read has seen of an object: its version or what a projection has made of it, nothing, no result yet, or
 * what cannot be compared.
 */
export type Seen = { version: string } | { value: unknown } | "absent" | "asked" | "unknown";

/** A value of an index. */
export interface IndexEntry {
  name: string;
  value: string;
}

/** What a read has got of it. */
export interface IndexRead {
  of: Projection | undefined;
  /** From a cache that may be ahead of the watch, which brings nothing new then; absent: from the informer. */
  ahead?: readonly KubeObject[];
}

/** Where a reader puts what it was asked for. */
export interface Notes {
  object(informer: Informer<KubeObject>, key: string, of: Projection | undefined): void;
  index(informer: Informer<KubeObject>, entry: IndexEntry, read: IndexRead): void;
  list(informer: Informer<KubeObject>, of: Projection | undefined): void;
  /** Before an object is asked for: "asked"; afterwards what was seen. */
  live(resource: Resource, key: string, seen: Seen, of?: Projection): void;
  liveList(resource: Resource, matches: (object: KubeObject) => boolean): void;
  /** What such a list had. */
  liveListed?(
    resource: Resource,
    objects: readonly KubeObject[],
    matches: (object: KubeObject) => boolean,
  ): void;
  topic(topic: string): void;
}

/** A reader of the store whose `get` and `list` record in `notes` what was read, absent objects too. */
export function createReader(store: Pick<ObjectStore, "get" | "list">, notes: Notes): Reader {
  return {
    over: <T extends KubeObject, P>(cached: Cached<T>, of?: (object: T) => P) => follow(cached, of, notes),
    store: followStore(store, notes),
    async get<T extends KubeObject, P>(
      resource: Resource<T>,
      key: ObjectKey,
      of: (object: T) => P,
      signal?: AbortSignal,
    ): Promise<P | undefined> {
      const object = await noted(store, { notes, resource, of }, key, signal).catch(orAbsent);
      return object === undefined ? undefined : of(object);
    },
    topic: (topic) => notes.topic(topic),
  };
}

function follow<T extends KubeObject, P>(
  cached: Cached<T>,
  of: ((object: T) => P) | undefined,
  notes: Notes,
): Collection<T & P> {
  const ahead = "informer" in cached;
  // Sound: what is noted of an informer is only ever compared with objects of the same informer.
  const informer = (ahead ? cached.informer : cached) as unknown as Informer<KubeObject>;
  const viewOf = (object: T): T & P => (of === undefined ? object : projected(of, object)) as T & P;
  return {
    get(key) {
      const object = cached.get(key);
      // What is ahead of the watch has seen already what the watch will bring.
      if (ahead && of === undefined) notes.live(informer.resource, key, seenOf(object));
      else notes.object(informer, key, of);
      return object === undefined ? undefined : viewOf(object);
    },
    list() {
      notes.list(informer, of);
      return cached.list().map(viewOf);
    },
    byIndex(name, value) {
      const found = cached.byIndex(name, value);
      notes.index(informer, { name, value }, { of, ...(ahead && of === undefined && { ahead: found }) });
      return of === undefined ? (found as (T & P)[]) : found.map(viewOf);
    },
  };
}

function followStore(
  store: Pick<ObjectStore, "get" | "list">,
  notes: Notes,
): Pick<ObjectStore, "get" | "list"> {
  return {
    get: (resource, key, signal) => noted(store, { notes, resource }, key, signal),
    async list<T extends KubeObject>(
      resource: Resource<T>,
      options: ListOptions = {},
    ): Promise<ListResult<T>> {
      const { namespace, labelSelector } = options;
      const labels = parseLabelSelector(labelSelector);
      // Field selectors are evaluated by the server: any change of a field may matter.
      const matches = ({ metadata }: KubeObject): boolean =>
        (namespace === undefined || metadata.namespace === namespace) &&
        matchesLabels(labels, metadata.labels ?? {});
      notes.liveList(resource, matches);
      const listed = await store.list(resource, options);
      notes.liveListed?.(resource, listed.items, matches);
      return listed;
    },
  };
}

/** Objects of a cache are never changed, and many keys may read the same one. */
const projections = new WeakMap<Projection, WeakMap<object, unknown>>();

/** What the projection makes of an object of a cache, made once. */
export function projected(of: Projection, object: object): unknown {
  const known = projections.get(of) ?? new WeakMap<object, unknown>();
  projections.set(of, known);
  if (!known.has(object)) known.set(object, of(object));
  return known.get(object);
}

/** Asks the store, and notes what was seen, or that nothing was there. */
async function noted<T extends KubeObject>(
  store: Pick<ObjectStore, "get">,
  { notes, resource, of }: { notes: Notes; resource: Resource<T>; of?: (object: T) => unknown },
  key: ObjectKey,
  signal: AbortSignal | undefined,
): Promise<T> {
  const name = keyOf({ metadata: key });
  notes.live(resource, name, "asked", of);
  try {
    const object = await store.get(resource, key, signal);
    notes.live(resource, name, of === undefined ? seenOf(object) : { value: of(object) }, of);
    return object;
  } catch (error) {
    notes.live(resource, name, isNotFound(error) ? "absent" : "unknown", of);
    throw error;
  }
}

function orAbsent(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

function seenOf(object: KubeObject | undefined): Seen {
  if (object === undefined) return "absent";
  const { resourceVersion } = object.metadata;
  return resourceVersion === undefined ? "unknown" : { version: resourceVersion };
}
