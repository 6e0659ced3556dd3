import { subscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import {
  constants,
  monitorEventLoopDelay,
  type PerformanceEntry,
  PerformanceObserver,
} from "node:perf_hooks";
import { threadMs } from "./thread-cost.ts";

/** What the event loop of a thread has done since it was measured. */
export interface Turns {
  /**
   * Milliseconds of processor time that the thread had in one turn. A busy machine changes them little: interrupts, and what a
   * hypervisor gives to others meanwhile, count as the thread's own.
   */
  worst: number;
  /** Milliseconds on the wall, as `monitorEventLoopDelay` has them. */
  wall: number;
  stalls: { ms: number; requests: string[] }[];
}

/** How often it is seen that the loop turns. */
const BEAT_MS = 5;
/** Of processor time in one turn: shorter ones are not kept. */
const [KEPT_MS, STALL_MS] = [5, 50];

const { NODE_PERFORMANCE_GC_MAJOR: WHOLE } = constants;

/** A turn of the event loop: processor time, and when it was. */
interface Turn {
  ms: number;
  from: number;
  to: number;
  requests: string[];
}

/**
 * Measures the turns of the event loop of the thread that makes it, and whose requests that thread had then. Without collections
 * of the whole heap: they come when a process seems idle, as one does that others leave little of the machine.
 */
export class TurnMeter {
  readonly #delay = monitorEventLoopDelay({ resolution: BEAT_MS });
  readonly #inFlight = new Map<IncomingMessage, string>();
  readonly #collections: { from: number; to: number }[] = [];
  #last = { ms: threadMs(), at: performance.now() };
  #turns: Turn[] = [];

  constructor() {
    subscribe("http.server.request.start", (message) => {
      const { request } = message as { request: IncomingMessage };
      this.#inFlight.set(request, String(request.headers["x-number"] ?? ""));
    });
    subscribe("http.server.response.finish", (message) => {
      const { request } = message as { request: IncomingMessage };
      // Past the next beat: the turn that has ended it is the one that may have stood still.
      setTimeout(() => this.#inFlight.delete(request), 3 * BEAT_MS).unref();
    });
    setInterval(() => this.#beat(), BEAT_MS).unref();
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as (PerformanceEntry & { detail?: { kind?: number } })[])
        if (entry.detail?.kind === WHOLE)
          this.#collections.push({ from: entry.startTime, to: entry.startTime + entry.duration });
    }).observe({ entryTypes: ["gc"] });
  }

  /** From here on turns count. */
  begin(): void {
    this.#delay.enable();
    this.#turns = [];
    this.#last = { ms: threadMs(), at: performance.now() };
  }

  report(): Turns {
    const turns = this.#turns.map((turn) => ({ ...turn, ms: turn.ms - this.#collected(turn) }));
    const stalls = turns.filter(({ ms }) => ms > STALL_MS).slice(0, 100);
    const worst = Math.max(0, ...turns.map(({ ms }) => ms));
    return {
      ...{ worst, wall: this.#delay.max / 1e6 },
      stalls: stalls.map(({ ms, requests }) => ({ ms, requests })),
    };
  }

  /** Milliseconds of a turn that went into the whole heap. */
  #collected({ from, to }: Turn): number {
    return this.#collections
      .map((each) => Math.max(0, Math.min(each.to, to) - Math.max(each.from, from)))
      .reduce((sum, ms) => sum + ms, 0);
  }

  #beat(): void {
    const [spent, now] = [threadMs() - this.#last.ms, performance.now()];
    if (spent > KEPT_MS)
      this.#turns.push({
        ...{ ms: spent, from: this.#last.at, to: now },
        requests: spent > STALL_MS ? [...this.#inFlight.values()] : [],
      });
    this.#last = { ms: threadMs(), at: performance.now() };
  }
}
