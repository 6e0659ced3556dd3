import { RecentMap } from "./recent-map.ts";

/** Writes about one object in a row; then one each {@link REFILL_MS}. Both, and how many are tracked, as in client-go. */
const BURST = 25;
const REFILL_MS = 300_000;
const MAX_TRACKED = 4096;

interface Bucket {
  tokens: number;
  at: number;
}

/** How often the events of one object may be written: something that fails for ever would be written for ever. */
export class EventBudget {
  readonly #buckets = new RecentMap<string, Bucket>(MAX_TRACKED);

  /** Takes one write about the object, and returns whether there was one left. `now`: milliseconds since the epoch. */
  take(about: string, now: number): boolean {
    const { tokens, at } = this.#buckets.get(about) ?? { tokens: BURST, at: now };
    const filled = Math.min(BURST, tokens + Math.max(0, now - at) / REFILL_MS);
    const granted = filled >= 1;
    this.#buckets.set(about, { tokens: granted ? filled - 1 : filled, at: now });
    return granted;
  }
}
