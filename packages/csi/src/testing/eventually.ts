import { setTimeout as sleep } from "node:timers/promises";

const DEADLINE_MS = 120_000;

/** Asks again until the answer is yes. The deadline only bounds a failure. */
export async function eventually(what: string, holds: () => boolean): Promise<void> {
  for (const deadline = Date.now() + DEADLINE_MS; !holds(); await sleep(10)) {
    if (Date.now() > deadline) throw new Error(`waited in vain for ${what}`);
  }
}
