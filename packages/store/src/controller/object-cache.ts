import type { KubeObject } from "../object/meta.ts";
import { keyOf } from "../object/resource.ts";

/** Objects by key and by index. */
export class ObjectCache<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #indexes: readonly Index<T>[];

  constructor(indexers: Record<string, (object: T) => string[]>) {
    this.#indexes = Object.entries(indexers).map(([name, of]) => ({ name, of, keys: new Map() }));
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(): T[] {
    return [...this.#objects.values()];
  }

  byIndex(name: string, value: string): T[] {
    const index = this.#indexes.find((each) => each.name === name);
    if (index === undefined) throw new TypeError(`this informer has no index "${name}"`);
    const keys = index.keys.get(value);
    const found: T[] = [];
    if (keys === undefined) return found;
    for (const key of keys) {
      const object = this.#objects.get(key);
      if (object !== undefined) found.push(object);
    }
    return found;
  }

  put(object: T): void {
    const key = keyOf(object);
    const old = this.#objects.get(key);
    this.#objects.set(key, object);
    for (const { keys, of } of this.#indexes) {
      const before = old === undefined ? NONE : of(old);
      const after = of(object);
      // Most changes of an object leave it where it is.
      for (const value of before) if (!after.includes(value)) take(keys, value, key);
      for (const value of after) if (!before.includes(value)) add(keys, value, key);
    }
  }

  remove(key: string): T | undefined {
    const object = this.#objects.get(key);
    if (object === undefined) return undefined;
    this.#objects.delete(key);
    for (const { keys, of } of this.#indexes) for (const value of of(object)) take(keys, value, key);
    return object;
  }
}

/** By value, the keys of the objects that have it. */
interface Index<T> {
  readonly name: string;
  readonly of: (object: T) => readonly string[];
  readonly keys: Map<string, Set<string>>;
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
