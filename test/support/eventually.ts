import { setTimeout as sleep } from "node:timers/promises";

/** A probe that starts programs takes its turn among those it waits for: so many times its own length lies between two. */
const REST = 4;
const LONGEST_MS = 1_000;

/**
 * Asks `probe` again until it answers something other than undefined or false. The deadline only bounds a failure;
 * it decides nothing else. `everyMs`: the least time between two probes.
 */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | undefined | false>,
  { withinMs = 120_000, everyMs = 25 } = {},
): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const asked = performance.now();
    const answer = await probe();
    const took = performance.now() - asked;
    if (answer !== undefined && answer !== false) return answer;
    if (Date.now() > deadline) throw new Error(`waited ${withinMs} ms for ${what}`);
    await sleep(Math.max(everyMs, Math.min(took * REST, LONGEST_MS)));
  }
}
