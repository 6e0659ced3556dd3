import { setTimeout as sleep } from "node:timers/promises";

/** Waits until the condition holds; fails after a minute. */
export async function eventually(what: string, condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what}`);
    await sleep(5);
  }
}
