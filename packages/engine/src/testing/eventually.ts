import { setTimeout as sleep } from "node:timers/promises";

const DEADLINE_MS = 60_000;

/** Asks again until the answer is yes. The deadline only bounds a failure. */
export async function eventually(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + DEADLINE_MS; !(await holds()); await sleep(20)) {
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what}`);
  }
}
