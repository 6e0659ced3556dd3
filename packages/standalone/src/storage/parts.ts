import { setMaxListeners } from "node:events";
import { createHost, type Host } from "@mooring/engine";
import type { Logger } from "@mooring/store";

/** Something that runs until its signal aborts. */
export interface Running {
  /** Settles when everything it had is released; rejects when it failed beyond repair. */
  done: Promise<void>;
}

interface Part extends Running {
  name: string;
  stop: AbortController;
}

/** A part that has not released after this long is logged, so that an operator can find it. */
const SLOW_STOP_MS = 15_000;

/**
 * Parts in the order they were started. They stop in the reverse order, each only when all that build on it have:
 * pods before their volumes, volumes before their pool, everything before the store.
 */
export class Parts {
  /** The machine, for all of them: one process starts the programs of all parts, from their first volume on. */
  readonly host: Host = createHost({ server: true });
  readonly #parts: Part[] = [];
  readonly #logger: Logger;
  readonly #onFailure: (error: unknown) => void;

  readonly #until: AbortSignal | undefined;

  /** `until`: gives up what is still being started then, as a server that never responds would let it hang. */
  constructor(logger: Logger, onFailure: (error: unknown) => void, until?: AbortSignal) {
    this.#logger = logger;
    this.#onFailure = onFailure;
    this.#until = until;
  }

  /** Starts a part with a signal of its own and waits until it is ready. */
  async start<T extends Running>(name: string, begin: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const stop = new AbortController();
    // Everything in a part listens to the one signal: many listeners are no leak here.
    setMaxListeners(0, stop.signal);
    const running = await this.#begin(stop, begin);
    this.#parts.push({ name, stop, done: running.done });
    running.done.catch((error: unknown) => {
      this.#logger.error({ err: error, part: name }, "a part has failed");
      this.#onFailure(error);
    });
    return running;
  }

  async #begin<T>(stop: AbortController, begin: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const until = this.#until;
    until?.throwIfAborted();
    const giveUp = () => stop.abort(until?.reason);
    until?.addEventListener("abort", giveUp, { once: true });
    try {
      return await begin(stop.signal);
    } catch (error) {
      // What it had begun ends as well.
      stop.abort(error);
      throw error;
    } finally {
      until?.removeEventListener("abort", giveUp);
    }
  }

  /** Stops all, last first. Never rejects: what failed has been logged. */
  async stop(): Promise<void> {
    for (const { name, stop, done } of this.#parts.splice(0).reverse()) {
      const slow = setTimeout(
        () => this.#logger.warn({ part: name }, "still waiting for a part to stop"),
        SLOW_STOP_MS,
      );
      stop.abort();
      await done.catch(() => {});
      clearTimeout(slow);
    }
  }
}
