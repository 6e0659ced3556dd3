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
    const old = this.#objects.get(key);
    this.#objects.set(key, object);
    for (const [name, index] of this.#indexes) {
      const [before, after] = [this.#valuesOf(name, old), this.#valuesOf(name, object)];
      // Most changes of an object leave it where it is.
      for (const value of before) if (!after.includes(value)) take(index, value, key);
      for (const value of after) if (!before.includes(value)) add(index, value, key);
    }
  }

  remove(key: string): T | undefined {
    const object = this.#objects.get(key);
    if (object === undefined) return undefined;
    this.#objects.delete(key);
    for (const [name, index] of this.#indexes)
      for (const value of this.#valuesOf(name, object)) take(index, value, key);
    return object;
  }

  #valuesOf(name: string, object: T | undefined): readonly string[] {
    return object === undefined ? NONE : (this.#indexers[name]?.(object) ?? NONE);
  }
}

const NONE: readonly string[] = [];

function add(index: Map<string, Set<string>>, value: string, key: string): void {
  const keys = index.get(value);
  if (keys === undefined) index.set(value, new Set([key]));
  else keys.add(key);
}

function take(index: Map<string, Set<string>>, value: string, key: string): void {
  const keys = index.get(value);
  keys?.delete(key);
  if (keys?.size === 0) index.delete(value);
}
