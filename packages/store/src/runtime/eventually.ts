import { setTimeout as sleep } from "node:timers/promises";

/** A probe that starts programs takes its turn among those it waits for: so many times its own length lies between two. */
const REST = 4;
const LONGEST_MS = 1_000;

/** How often and how long {@link eventually} probes. */
export interface EventuallyOptions {
  /** Milliseconds after which it counts as failed; default two minutes. Decides nothing else. */
  withinMs?: number;
  /** The least time between two probes, in milliseconds; default 20. */
  everyMs?: number;
  /** A probe that throws is asked again; what it threw last is thrown in the end. Default: it fails at once. */
  mayThrow?: boolean;
  /** What there is instead; printed when it was in vain. */
  lastSeen?: () => unknown;
}

/** Time is up, and the probe has found nothing. */
export class WaitedInVain extends Error {
  override readonly name = "WaitedInVain";
}

/** Calls `probe` again until it returns something other than undefined or false; resolves with that. */
export async function eventually<T>(
  what: string,
  probe: () => T | Promise<T>,
  { withinMs = 120_000, everyMs = 20, mayThrow = false, lastSeen }: EventuallyOptions = {},
): Promise<Exclude<T, undefined | false>> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const asked = performance.now();
    let failure: unknown;
    try {
      const value = await probe();
      if (value !== undefined && value !== false) return value as Exclude<T, undefined | false>;
    } catch (error) {
      if (!mayThrow) throw error;
      failure = error;
    }
    const now = performance.now();
    if (now > deadline) {
      const last = lastSeen === undefined ? "" : `: ${JSON.stringify(await lastSeen())}`;
      throw failure ?? new WaitedInVain(`waited ${withinMs} ms in vain for ${what}${last}`);
    }
    await sleep(Math.max(everyMs, Math.min((now - asked) * REST, LONGEST_MS)));
  }
}
