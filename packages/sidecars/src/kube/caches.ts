import {
  createInformer,
  type KubeObject,
  type Logger,
  type ObjectStore,
  type Resource,
  WrittenCache,
} from "@mooring/store";
import type { Indexers, ObjectCache } from "./cache.ts";

/** Which objects of a kind are kept, and how they are indexed. */
export interface CacheOptions<T extends KubeObject> {
  namespace?: string;
  labelSelector?: string;
  indexers?: Indexers<T>;
  /** What is kept of an object; default: all but who has set which field. */
  keep?: (object: T) => T;
}

/** One cache per kind, started when the first one asks for it, until the signal. */
export class Caches {
  readonly #store: ObjectStore;
  readonly #logger: Logger;
  readonly #signal: AbortSignal;
  readonly #caches = new Map<string, unknown>();
  /** The same by the object that stands for the kind: every read of every key asks for some. */
  readonly #known = new Map<unknown, unknown>();
  readonly #running: Promise<void>[] = [];

  constructor(store: ObjectStore, logger: Logger, signal: AbortSignal) {
    this.#store = store;
    this.#logger = logger;
    this.#signal = signal;
  }

  /** Settles when every watch has ended, after the signal. */
  get done(): Promise<void> {
    return Promise.allSettled(this.#running).then(() => {});
  }

  /** The one cache of a kind. `options` are those of whoever asks first; everybody else has to want the same. */
  cacheOf<T extends KubeObject>(resource: Resource<T>, options: () => CacheOptions<T>): ObjectCache<T> {
    const cache = (this.#known.get(resource) as ObjectCache<T> | undefined) ?? this.#open(resource, options);
    this.#known.set(resource, cache);
    return cache;
  }

  #open<T extends KubeObject>(resource: Resource<T>, options: () => CacheOptions<T>): ObjectCache<T> {
    const id = `${resource.group}/${resource.plural}`;
    const known = this.#caches.get(id) as ObjectCache<T> | undefined;
    if (known !== undefined) return known;
    const { keep = whole, ...more } = options();
    const transform = (object: T) => keep(withoutManagers(object));
    const informer = createInformer(this.#store, resource, { ...more, transform, logger: this.#logger });
    const cache = new WrittenCache(this.#store, informer);
    this.#caches.set(id, cache);
    this.#running.push(informer.run(this.#signal));
    return cache;
  }
}

const whole = <T>(object: T): T => object;

/** No controller reads who has set which field, and on a real API server that is half of what an object takes. */
function withoutManagers<T extends KubeObject>(object: T): T {
  if (object.metadata.managedFields === undefined) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
