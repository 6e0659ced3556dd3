import { delay, silentLogger } from "@mooring/store";
import type { SidecarOptions } from "./options.ts";
import type { Shared } from "./shared.ts";
import { type Sidecars, startSidecars } from "./start.ts";

/** Milliseconds between two starts of controllers that broke. */
const [FIRST_MS, LONGEST_MS] = [1_000, 60_000];

/** How the control plane of one driver gets on, for who runs it beside others. */
export interface DriverProgress {
  /** The driver has answered, and its controllers run, or wait for the lease. */
  controlled?(sidecars: Sidecars): void;
  /** They broke, and begin again. */
  broke?(error: Error): void;
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
  for (let waitMs = FIRST_MS; !signal.aborted; waitMs = Math.min(2 * waitMs, LONGEST_MS)) {
    try {
      const sidecars = await startSidecars(options, shared);
      progress.controlled?.(sidecars);
      await sidecars.done;
    } catch (error) {
      if (signal.aborted) return;
      progress.broke?.(error instanceof Error ? error : new Error(String(error)));
      logger.error(
        { err: error, endpoint, waitMs },
        "the controllers of a driver broke; they start again, and other drivers' go on",
      );
      await delay(waitMs, signal).catch(() => {});
    }
  }
}
