import {
  type Collection,
  defined,
  type KubeObject,
  type Node,
  type Reader,
  type Resource,
} from "@mooring/store";
import type { ObjectCache } from "./cache.ts";
import type { CacheOptions } from "./caches.ts";
import { Cluster } from "./cluster.ts";

/** The cluster as one read sees it: what is asked for is noted. Good for one `read`. */
export class FollowedCluster extends Cluster {
  readonly #cluster: Cluster;
  readonly #reader: Reader;

  constructor(cluster: Cluster, reader: Reader) {
    super(cluster.store, cluster.scope, cluster.signal);
    this.#cluster = cluster;
    this.#reader = reader;
  }

  override get nodes(): ObjectCache<Node> {
    const { nodes } = this.#cluster;
    return new FollowedCache(nodes, this.#reader.over(nodes, withoutStatus));
  }

  override cacheOf<T extends KubeObject>(
    resource: Resource<T>,
    more?: () => CacheOptions<T>,
  ): ObjectCache<T> {
    const cache = this.#cluster.cacheOf(resource, more);
    return new FollowedCache(cache, this.#reader.over(cache));
  }
}

/** No decision here reads the status of a node, and it changes with every heartbeat; its version with it. */
function withoutStatus({ apiVersion, kind, metadata, spec }: Node): Node {
  const { resourceVersion: _, managedFields: __, ...rest } = metadata;
  return { apiVersion, kind, metadata: rest, ...defined({ spec }) };
}

class FollowedCache<T extends KubeObject> implements ObjectCache<T> {
  readonly #cache: ObjectCache<T>;
  readonly #noted: Collection<T>;

  constructor(cache: ObjectCache<T>, noted: Collection<T>) {
    this.#cache = cache;
    this.#noted = noted;
  }

  get resource() {
    return this.#cache.resource;
  }

  get informer() {
    return this.#cache.informer;
  }

  get(key: string): T | undefined {
    return this.#noted.get(key);
  }

  byIndex(index: string, value: string): T[] {
    return this.#noted.byIndex(index, value);
  }

  list(): T[] {
    return this.#noted.list();
  }

  async refresh(key: string, signal?: AbortSignal): Promise<T | undefined> {
    await this.#cache.refresh(key, signal);
    return this.#noted.get(key);
  }

  wrote(object: T): T {
    return this.#cache.wrote(object);
  }

  gone(object: T): void {
    this.#cache.gone(object);
  }

  deleted(left: T): void {
    this.#cache.deleted(left);
  }
}
