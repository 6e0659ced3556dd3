import { backoffMs, delay, silentLogger } from "@mooring/store";
import type { SidecarOptions } from "./options.ts";
import type { Shared } from "./shared.ts";
import { type Sidecars, startSidecars } from "./start.ts";

/** How the control plane of one driver gets on, for who runs it beside others. */
export interface DriverProgress {
  /** The driver has responded, and its controllers run, or wait for the lease. */
  controlled?(sidecars: Sidecars): void;
  /** They broke, and begin again after so many milliseconds. */
  broke?(error: Error, waitMs: number): void;
}

/**
 * The control plane around one driver of several, until the signal: its controllers begin again when they break, and no other driver's
 * do. Never rejects.
 */
export async function keepControlling(
  options: SidecarOptions,
  shared?: Shared,
  progress: DriverProgress = {},
): Promise<void> {
  const { endpoint, signal, logger = silentLogger } = options;
  const restarts = new Restarts(options);
  while (!signal.aborted) {
    try {
      const sidecars = await startSidecars(options, shared);
      restarts.began();
      progress.controlled?.(sidecars);
      await sidecars.done;
    } catch (error) {
      if (signal.aborted) return;
      const waitMs = restarts.broke();
      progress.broke?.(error instanceof Error ? error : new Error(String(error)), waitMs);
      logger.error(
        { err: error, endpoint, waitMs },
        "the controllers of a driver broke; they start again, and other drivers' go on",
      );
      await delay(waitMs, signal).catch(() => {});
    }
  }
}

/** A machine that sets its time meanwhile ends no wait. */
const monotonic = () => performance.now();

/**
 * How long to wait until controllers start again: longer with each break, and as after the first one when they have run for twice the
 * longest wait in between. What breaks once a month is no fault that lasts.
 */
class Restarts {
  readonly #now: () => number;
  readonly #startMs: number;
  readonly #maxMs: number;
  #breaks = 0;
  /** By the same clock; undefined: the driver has not responded since the last break. */
  #since: number | undefined;

  constructor({ now = monotonic, restart = {} }: Pick<SidecarOptions, "now" | "restart">) {
    this.#now = now;
    this.#startMs = restart.startMs ?? 1_000;
    this.#maxMs = restart.maxMs ?? 60_000;
  }

  began(): void {
    this.#since = this.#now();
  }

  /** Milliseconds to wait. */
  broke(): number {
    const ranMs = this.#since === undefined ? 0 : this.#now() - this.#since;
    this.#breaks = ranMs >= 2 * this.#maxMs ? 1 : this.#breaks + 1;
    this.#since = undefined;
    return Math.round(backoffMs(this.#breaks, { baseMs: this.#startMs, maxMs: this.#maxMs }));
  }
}
