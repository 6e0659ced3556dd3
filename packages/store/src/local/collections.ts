import type { UnstructuredObject } from "../object/meta.ts";

type Of = (object: UnstructuredObject) => unknown;

/** Paths from `start` up to and without `end`. */
export interface PathRange {
  start: string;
  end: string;
}

interface Collected extends PathRange {
  of: Of;
  values: Map<string, unknown>;
}

/** Objects as the next write would find them. */
export type LatestObjects = (range: PathRange) => Iterable<{ path: string; json: string }>;

/**
 * What rules have made of the objects of a range: read once, then kept up with every write that is decided. Ranges in
 * which there is nothing are not kept: reading them again costs nothing.
 */
export class Collections {
  readonly #latest: LatestObjects;
  readonly #collected = new Map<string, Map<Of, Collected>>();

  constructor(latest: LatestObjects) {
    this.#latest = latest;
  }

  collect<T>(range: PathRange, of: (object: UnstructuredObject) => T): ReadonlyMap<string, T> {
    const known = this.#collected.get(range.start)?.get(of) ?? this.#read(range, of);
    // Sound: the values were made by this very function.
    return known.values as ReadonlyMap<string, T>;
  }

  /** A write was decided; `json` is undefined when the object goes. */
  wrote(path: string, json: string | undefined): void {
    for (const ofRange of this.#collected.values()) {
      for (const { start, end, of, values } of ofRange.values()) {
        if (path < start || path >= end) continue;
        if (json === undefined) values.delete(path);
        else values.set(path, of(JSON.parse(json) as UnstructuredObject));
        if (values.size === 0) this.#collected.delete(start);
      }
    }
  }

  /** Writes were lost: what is asked for again is read again. */
  clear(): void {
    this.#collected.clear();
  }

  #read(range: PathRange, of: Of): Collected {
    const values = new Map<string, unknown>();
    for (const { path, json } of this.#latest(range))
      values.set(path, of(JSON.parse(json) as UnstructuredObject));
    const collected = { ...range, of, values };
    if (values.size === 0) return collected;
    const ofRange = this.#collected.get(range.start) ?? new Map<Of, Collected>();
    this.#collected.set(range.start, ofRange.set(of, collected));
    return collected;
  }
}
