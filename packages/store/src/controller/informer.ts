import type { KubeObject } from "../object/meta.ts";
import { keyOf, type Resource } from "../object/resource.ts";
import type { ObjectStore } from "../object-store.ts";
import { type Logger, silentLogger } from "../runtime/logger.ts";
import { allowManyListeners, orAborted } from "../runtime/wait.ts";
import { ObjectCache } from "./object-cache.ts";
import { type ReflectorTarget, reflect } from "./reflector.ts";

/** Which objects an informer keeps, how they are indexed, and who hears of trouble. */
export interface InformerOptions<T> {
  /** Absent: all namespaces. */
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Index name -> the values under which an object is found by `byIndex`. */
  indexers?: Record<string, (object: T) => string[]>;
  /** Makes the copy that is kept: leave out what no controller reads, and a large collection needs less memory. */
  transform?: (object: T) => T;
  logger?: Logger;
}

/** `old` is undefined when the object is new, `current` when it is gone. */
export type ChangeListener<T> = (old: T | undefined, current: T | undefined) => void;

/**
 * A live copy of a collection. Objects are shared by everyone who reads them: never change them.
 * Nothing that the store does ends an informer; only its signal does.
 */
export interface Informer<T extends KubeObject> {
  readonly resource: Resource<T>;
  /** Index name -> the values under which an object is found by {@link Informer.byIndex}. */
  readonly indexers: Readonly<Record<string, (object: T) => string[]>>;
  /** Lists and watches until the signal aborts; resolves then. Call it once. */
  run(signal: AbortSignal): Promise<void>;
  /** Resolves when the first list is in the cache. */
  synced(signal?: AbortSignal): Promise<void>;
  /** `key` is `namespace/name`, or `name` for cluster-scoped kinds. */
  get(key: string): T | undefined;
  list(): T[];
  byIndex(name: string, value: string): T[];
  /** Calls back after each change of the cache; returns how to stop that. */
  onChange(listener: ChangeListener<T>): () => void;
}

/** An informer that has not begun: it lists and watches once `run` is called. */
export function createInformer<T extends KubeObject>(
  store: ObjectStore,
  resource: Resource<T>,
  options: InformerOptions<T> = {},
): Informer<T> {
  const { indexers = {}, transform, logger = silentLogger, ...selection } = options;
  const cache = new ObjectCache<T>(indexers);
  const listeners = new Set<ChangeListener<T>>();
  let markSynced = () => {};
  const firstSync = new Promise<void>((resolve) => {
    markSynced = resolve;
  });
  const announce: ChangeListener<T> = (old, current) => {
    for (const listener of listeners) {
      try {
        listener(old, current);
      } catch (error) {
        logger.error({ err: error, resource: resource.plural }, "a listener of an informer failed");
      }
    }
  };
  const filled = filling(cache, announce, transform);
  const target: ReflectorTarget<T> = {
    ...filled,
    replace(objects) {
      filled.replace(objects);
      markSynced();
    },
  };

  return {
    resource,
    indexers,
    run(signal) {
      allowManyListeners(signal);
      return reflect(store, { resource, selection }, { logger, signal }, target);
    },
    synced: (signal) => orAborted(firstSync, signal),
    get: (key) => cache.get(key),
    list: () => cache.list(),
    byIndex: (name, value) => cache.byIndex(name, value),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** What the store has goes into the cache, and each change that this makes there is announced. */
function filling<T extends KubeObject>(
  cache: ObjectCache<T>,
  announce: ChangeListener<T>,
  transform: (object: T) => T = (object) => object,
): ReflectorTarget<T> {
  const put = (whole: T) => {
    const object = transform(whole);
    const old = cache.get(keyOf(object));
    // Seen before: a watch that was opened again may repeat itself.
    if (old?.metadata.resourceVersion === object.metadata.resourceVersion && old !== undefined) return;
    cache.put(object);
    announce(old, object);
  };
  const remove = (key: string) => {
    const old = cache.remove(key);
    if (old !== undefined) announce(old, undefined);
  };
  return {
    replace(objects) {
      const present = new Set(objects.map(keyOf));
      for (const object of cache.list()) {
        if (!present.has(keyOf(object))) remove(keyOf(object));
      }
      for (const object of objects) put(object);
    },
    put,
    remove: (object) => remove(keyOf(object)),
  };
}
