import { backoffMs, msLeft } from "@mooring/store";
import type { SidecarContext } from "./context.ts";

/** No jitter: a delay is part of what decisions are made of, and one process asks the driver. */
const EXACTLY = (): number => 0.5;

/**
 * When the driver may be asked again about something. Kept here and not in the work queue, because own writes and
 * other users' annotations wake a key as well, and must not shorten its back-off. It ends early only when the
 * request itself has changed. See docs/decisions/0060.
 */
export interface BackoffOptions {
  /** Milliseconds; doubles with every failure. */
  startMs: number;
  maxMs: number;
  now: () => number;
}

/** What a request is known by: equal requests have equal ones. Made only where there is a delay to compare, if it is a function. */
export type RequestKey = string | (() => string);

interface Delay {
  requestKey: string;
  failures: number;
  since: number;
  forMs: number;
}

/** Delays between calls, by id; see {@link BackoffOptions}. */
export class Backoff {
  readonly #options: BackoffOptions;
  readonly #delays = new Map<string, Delay>();

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** With the delays and the clock of a driver's controllers. */
  static of({ now, retry }: Pick<SidecarContext, "now" | "retry">): Backoff {
    return new Backoff({ ...retry, now });
  }

  /**
   * Records a failure; returns the delay in milliseconds. `atLeastMs` lengthens it (infeasible requests); an infinite one ends
   * only with another request.
   */
  fail(id: string, of: RequestKey, atLeastMs = 0): number {
    const { startMs, maxMs, now } = this.#options;
    const requestKey = textOf(of);
    const before = this.#delays.get(id);
    const failures = before?.requestKey === requestKey ? before.failures + 1 : 1;
    const ms = Math.max(atLeastMs, backoffMs(failures, { baseMs: startMs, maxMs, random: EXACTLY }));
    this.#delays.set(id, { requestKey, failures, since: now(), forMs: ms });
    return ms;
  }

  /** Milliseconds left of the delay; 0 when the request may be sent. */
  remaining(id: string, requestKey: RequestKey): number {
    const delay = this.#delays.get(id);
    if (delay === undefined || delay.requestKey !== textOf(requestKey)) return 0;
    return msLeft({ ...delay, now: this.#options.now() });
  }

  /** True when this request has failed since the last success. */
  hasFailed(id: string, requestKey: string): boolean {
    return this.#delays.get(id)?.requestKey === requestKey;
  }

  reset(id: string): void {
    this.#delays.delete(id);
  }
}

const textOf = (requestKey: RequestKey): string =>
  typeof requestKey === "string" ? requestKey : requestKey();
