import { setTimeout as sleep } from "node:timers/promises";

/**
 * Asks `probe` again until it answers something other than undefined or false. The deadline only bounds a failure;
 * it decides nothing else.
 */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | undefined | false>,
  { withinMs = 120_000, everyMs = 25 } = {},
): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const answer = await probe();
    if (answer !== undefined && answer !== false) return answer;
    if (Date.now() > deadline) throw new Error(`waited ${withinMs} ms for ${what}`);
    await sleep(everyMs);
  }
}
