import { EngineError } from "../errors.ts";
import type { PoolBackend } from "../pools/backend.ts";
import type { PoolLayout } from "../pools/layout.ts";

/** A pool that is open in this process. */
export interface OpenPool {
  name: string;
  backend: PoolBackend;
  layout: PoolLayout;
}

/** The pools that this process has open, by the name of their Pool object. */
export class OpenPools {
  readonly #pools = new Map<string, OpenPool>();
  readonly #touched = new Set<(name: string) => void>();
  readonly #opened = new Set<(name: string) => void>();

  get(name: string): OpenPool | undefined {
    return this.#pools.get(name);
  }

  /** Throws UNAVAILABLE. */
  require(name: string): OpenPool {
    const pool = this.#pools.get(name);
    if (pool !== undefined) return pool;
    throw new EngineError("UNAVAILABLE", `pool ${name} is not open`);
  }

  list(): OpenPool[] {
    return [...this.#pools.values()];
  }

  set(pool: OpenPool): void {
    this.#pools.set(pool.name, pool);
    for (const listener of this.#opened) listener(pool.name);
  }

  delete(name: string): void {
    this.#pools.delete(name);
  }

  /** Something in the pool has changed: its usage is to be read again. */
  touched(name: string): void {
    for (const listener of this.#touched) listener(name);
  }

  onTouched(listener: (name: string) => void): void {
    this.#touched.add(listener);
  }

  onOpened(listener: (name: string) => void): void {
    this.#opened.add(listener);
  }
}
