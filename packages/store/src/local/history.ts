import { expired } from "../object/errors.ts";
import type { StoreEvent } from "./event.ts";

/** How much of the past a watch may resume from. A watch from an older revision gets Expired (410). */
export interface HistoryLimits {
  /** Events kept; default 8,192. */
  events: number;
  /** Characters of JSON kept; default 32 million. */
  characters: number;
}

interface Collection {
  events: StoreEvent[];
  /** Revision of the newest event that was dropped: what happened up to it can no longer be replayed. */
  floor: number;
  waiting: Set<() => void>;
}

/**
 * The recent past of every collection. Watchers keep nothing but a revision and read from here at their own pace,
 * so a slow one costs no memory and stalls no other; one that is too slow gets Expired.
 */
export class History {
  readonly #collections = new Map<string, Collection>();
  readonly #limits: HistoryLimits;
  /** Those that were dropped are undefined, and make room when there are many. */
  readonly #order: (StoreEvent | undefined)[] = [];
  #dropped = 0;
  #characters = 0;
  #closed = false;
  /** Floor of collections that have not been seen since the store was opened. */
  readonly #initialFloor: number;

  /** `events`: the persisted past, oldest first; `revision`: the store's. */
  constructor(events: Iterable<StoreEvent>, revision: number, limits: HistoryLimits) {
    this.#limits = limits;
    const past = [...events];
    this.#initialFloor = (past[0]?.revision ?? revision + 1) - 1;
    for (const event of past) this.#append(event);
  }

  /** Adds an event and wakes the watchers of its collection. */
  push(event: StoreEvent): void {
    const collection = this.#append(event);
    const waiting = [...collection.waiting];
    collection.waiting.clear();
    for (const wake of waiting) wake();
  }

  /** Revisions to drop before `incoming` events join; they stay readable until {@link drop}. */
  surplus(incoming: number): StoreEvent[] {
    const surplus: StoreEvent[] = [];
    let count = this.#order.length - this.#dropped + incoming;
    let characters = this.#characters;
    for (let index = this.#dropped; index < this.#order.length; index++) {
      if (count <= this.#limits.events && characters <= this.#limits.characters) break;
      const event = this.#order[index];
      if (event === undefined) break;
      surplus.push(event);
      count -= 1;
      characters -= sizeOf(event);
    }
    return surplus;
  }

  drop(events: readonly StoreEvent[]): void {
    for (const event of events) {
      const collection = this.#collection(event.collection);
      collection.events.shift();
      collection.floor = event.revision;
      this.#characters -= sizeOf(event);
      this.#order[this.#dropped++] = undefined;
    }
    if (this.#dropped > 4096) {
      this.#order.splice(0, this.#dropped);
      this.#dropped = 0;
    }
  }

  /** Events after `revision`, at most `limit`. Throws Expired when some of them are gone. */
  after(collection: string, revision: number, limit = Number.POSITIVE_INFINITY): StoreEvent[] {
    const { events, floor } = this.#collection(collection);
    if (revision < floor) throw expired(revision, floor);
    const start = firstAfter(events, revision);
    return events.slice(start, limit === Number.POSITIVE_INFINITY ? undefined : start + limit);
  }

  /** Resolves when the collection has an event after `revision`, at the abort, or after `timeoutMs`. */
  async changed(collection: string, revision: number, signal: AbortSignal, timeoutMs: number): Promise<void> {
    const { events, waiting } = this.#collection(collection);
    if (signal.aborted || this.#closed || (events.at(-1)?.revision ?? 0) > revision) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        waiting.delete(done);
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, timeoutMs);
      timer.unref();
      signal.addEventListener("abort", done, { once: true });
      waiting.add(done);
    });
  }

  /** True when nothing will happen any more. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Wakes all watchers for the last time. */
  close(): void {
    this.#closed = true;
    for (const { waiting } of this.#collections.values()) {
      for (const wake of [...waiting]) wake();
    }
  }

  #append(event: StoreEvent): Collection {
    const collection = this.#collection(event.collection);
    collection.events.push(event);
    this.#order.push(event);
    this.#characters += sizeOf(event);
    return collection;
  }

  #collection(name: string): Collection {
    let collection = this.#collections.get(name);
    if (collection === undefined) {
      collection = { events: [], floor: this.#initialFloor, waiting: new Set() };
      this.#collections.set(name, collection);
    }
    return collection;
  }
}

function sizeOf(event: StoreEvent): number {
  return event.json.length + (event.previous?.length ?? 0);
}

/** Index of the first event with a higher revision. */
function firstAfter(events: readonly StoreEvent[], revision: number): number {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((events[middle]?.revision ?? 0) > revision) high = middle;
    else low = middle + 1;
  }
  return low;
}
