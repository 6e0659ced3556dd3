import { RecentMap } from "./recent-map.ts";

/** Different messages with one reason about one object before they are folded into one event. */
const MAX_DIFFERENT = 10;
const WINDOW_MS = 600_000;
const MAX_TRACKED = 4096;

/**
 * Messages that differ only in a request id or a time would make an event each, for ever. After ten different ones in
 * ten minutes the next share an event of their own.
 */
export class SimilarEvents {
  readonly #seen = new RecentMap<string, { since: number; messages: Set<string> }>(MAX_TRACKED);

  /** What to write, and the part of it that makes the event the same as another. */
  message(about: string, text: string, now: number): { text: string; identity: string } {
    let entry = this.#seen.get(about);
    if (entry === undefined || now - entry.since > WINDOW_MS) {
      entry = { since: now, messages: new Set() };
      this.#seen.set(about, entry);
    }
    if (entry.messages.has(text) || entry.messages.size < MAX_DIFFERENT) {
      entry.messages.add(text);
      return { text, identity: text };
    }
    return { text: `(combined from similar events): ${text}`, identity: "combined" };
  }
}
