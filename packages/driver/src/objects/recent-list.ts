import { type KubeObject, listAll, type ObjectStore, type Resource } from "@mooring/store";
import { inOrder } from "../paging/token.ts";
import { positionOf } from "./find.ts";

/** A reader of pages asks for the next one sooner than that; after it the objects need not be kept. */
const KEPT_MS = 10_000;

/**
 * A whole list in order of creation, read again only when something in the store has changed since: a reader of a
 * hundred pages does not cost a hundred lists. Always as new as the request. The objects are shared: never change them.
 */
export class RecentList<T extends KubeObject> {
  readonly #store: ObjectStore;
  readonly #resource: Resource<T>;
  #kept: { revision: string; items: readonly T[] } | undefined;
  #forget: NodeJS.Timeout | undefined;

  constructor(store: ObjectStore, resource: Resource<T>) {
    this.#store = store;
    this.#resource = resource;
  }

  async get(signal: AbortSignal): Promise<readonly T[]> {
    clearTimeout(this.#forget);
    try {
      const newest = await this.#store.list(this.#resource, { limit: 1, signal });
      if (this.#kept?.revision === newest.resourceVersion) return this.#kept.items;
      const { items, resourceVersion } = await listAll(this.#store, this.#resource, { signal });
      const sorted = inOrder(items, positionOf);
      this.#kept = { revision: resourceVersion, items: sorted };
      return sorted;
    } finally {
      clearTimeout(this.#forget);
      this.#forget = setTimeout(() => {
        this.#kept = undefined;
      }, KEPT_MS).unref();
    }
  }
}
