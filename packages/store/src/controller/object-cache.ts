import type { KubeObject } from "../object/meta.ts";
import { keyOf } from "../object/resource.ts";

/** Objects by key and by index. */
export class ObjectCache<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #indexers: Record<string, (object: T) => string[]>;
  /** Index name -> value -> keys. */
  readonly #indexes = new Map<string, Map<string, Set<string>>>();

  constructor(indexers: Record<string, (object: T) => string[]>) {
    this.#indexers = indexers;
    for (const name of Object.keys(indexers)) this.#indexes.set(name, new Map());
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(): T[] {
    return [...this.#objects.values()];
  }

  byIndex(name: string, value: string): T[] {
    const index = this.#indexes.get(name);
    if (index === undefined) throw new TypeError(`this informer has no index "${name}"`);
    const found: T[] = [];
    for (const key of index.get(value) ?? []) {
      const object = this.#objects.get(key);
      if (object !== undefined) found.push(object);
    }
    return found;
  }

  put(object: T): void {
    const key = keyOf(object);
    this.remove(key);
    this.#objects.set(key, object);
    for (const [index, value] of this.#entries(object)) {
      const keys = index.get(value) ?? new Set();
      index.set(value, keys.add(key));
    }
  }

  remove(key: string): T | undefined {
    const object = this.#objects.get(key);
    if (object === undefined) return undefined;
    this.#objects.delete(key);
    for (const [index, value] of this.#entries(object)) {
      const keys = index.get(value);
      keys?.delete(key);
      if (keys?.size === 0) index.delete(value);
    }
    return object;
  }

  *#entries(object: T): Generator<[Map<string, Set<string>>, string]> {
    for (const [name, index] of this.#indexes) {
      for (const value of this.#indexers[name]?.(object) ?? []) yield [index, value];
    }
  }
}
