import type { KubeObject } from "@mooring/store";

/** A driver that has not responded by then is slow: an event for users says what is waited for. Until then the write is saved. */
const SLOW_MS = 2_000;
/** So old a content may be before its driver is asked for it, where much else is asked of it; then its users hear of that as well. */
const QUEUED_MS = 10_000;

/** Since when a driver has been asked for contents, by UID. Times in milliseconds since the epoch. */
export class AskedDriver {
  readonly #since = new Map<string, number>();

  /** It is asked now. A second time changes nothing: its users have been waiting since the first. */
  ask(uid: string, now: number): void {
    if (!this.#since.has(uid)) this.#since.set(uid, now);
  }

  /** Nobody waits for it any more. */
  forget(uid: string): void {
    this.#since.delete(uid);
  }

  /** Undefined: not yet, by this process. */
  since(uid: string): number | undefined {
    return this.#since.get(uid);
  }
}

/**
 * Milliseconds that a driver may still take for a content before it is slow. Clocks that disagree make it 0. `asked`: where this
 * process is the one that asks, a driver is not slow because others have come first.
 */
export function patienceLeft(
  nowMs: number,
  { metadata }: KubeObject,
  asked: Pick<AskedDriver, "since"> | undefined,
): number {
  const left = (since: number, most: number) => {
    const ageMs = nowMs - since;
    return ageMs >= 0 && ageMs < most ? most - ageMs : 0;
  };
  const created = Date.parse(metadata.creationTimestamp ?? "");
  if (asked === undefined) return left(created, SLOW_MS);
  const since = asked.since(metadata.uid ?? "");
  return since === undefined ? Math.min(SLOW_MS, left(created, QUEUED_MS)) : left(since, SLOW_MS);
}
