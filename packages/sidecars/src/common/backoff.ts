/**
 * When the driver may be asked again about something. Kept here and not in the work queue, because own writes and
 * other people's annotations wake a key as well, and must not shorten its pause. A pause ends early only when the
 * question itself has changed.
 */
export interface BackoffOptions {
  /** Milliseconds; doubles with every failure. */
  startMs: number;
  maxMs: number;
  now: () => number;
}

interface Pause {
  requestKey: string;
  failures: number;
  until: number;
}

/** Pauses between calls, by id; see {@link BackoffOptions}. */
export class Backoff {
  readonly #options: BackoffOptions;
  readonly #pauses = new Map<string, Pause>();

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /**
   * Notes a failure; returns the pause in milliseconds. `atLeastMs` lengthens it (infeasible requests); an infinite one ends
   * only with another question.
   */
  fail(id: string, requestKey: string, atLeastMs = 0): number {
    const { startMs, maxMs, now } = this.#options;
    const before = this.#pauses.get(id);
    const failures = before?.requestKey === requestKey ? before.failures + 1 : 1;
    const ms = Math.max(atLeastMs, Math.min(maxMs, startMs * 2 ** (failures - 1)));
    this.#pauses.set(id, { requestKey, failures, until: now() + ms });
    return ms;
  }

  /** Milliseconds left of the pause; 0 when the question may be asked. */
  remaining(id: string, requestKey: string): number {
    const pause = this.#pauses.get(id);
    if (pause === undefined || pause.requestKey !== requestKey) return 0;
    return Math.max(0, pause.until - this.#options.now());
  }

  /** True when this question has failed since the last success. */
  hasFailed(id: string, requestKey: string): boolean {
    return this.#pauses.get(id)?.requestKey === requestKey;
  }

  reset(id: string): void {
    this.#pauses.delete(id);
  }
}
