import { subscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { threadMs } from "../testing/thread-cost.ts";
import type { Turns } from "./talk.ts";

/** How often it is seen that the loop turns. */
const BEAT_MS = 5;
/** Of processor time in one turn: from here on it is a stall. */
const STALL_MS = 50;

/** Measures the turns of the event loop of the thread that makes it, and whose requests that thread had then. */
export class TurnMeter {
  readonly #delay = monitorEventLoopDelay({ resolution: BEAT_MS });
  readonly #inFlight = new Map<IncomingMessage, string>();
  #last = threadMs();
  #worst = 0;
  #stalls: Turns["stalls"] = [];

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
  }

  /** From here on turns count. */
  begin(): void {
    this.#delay.enable();
    this.#worst = 0;
    this.#stalls = [];
    this.#last = threadMs();
  }

  report(): Turns {
    return { worst: this.#worst, wall: this.#delay.max / 1e6, stalls: this.#stalls };
  }

  #beat(): void {
    const spent = threadMs() - this.#last;
    this.#worst = Math.max(this.#worst, spent);
    if (spent > STALL_MS && this.#stalls.length < 100)
      this.#stalls.push({ ms: spent, requests: [...this.#inFlight.values()] });
    this.#last = threadMs();
  }
}
