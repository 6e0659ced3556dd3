import { delay } from "../../runtime/wait.ts";
import type { Checked, Due } from "./at-rest.ts";

const EVERY_MS = 1_800_000;
/** An event that is on its way comes within this time. */
const CONFIRM_MS = 5_000;

interface Resynced extends Checked {
  add(key: string): void;
  found(key: string, step: { do: string }): void;
}

/**
 * The net below the events: reads every key once per period, spread over it, and asks for those that have work which
 * nothing had asked for. There should never be any.
 */
export async function keepResyncing(
  controller: Resynced,
  signal: AbortSignal,
  everyMs = EVERY_MS,
): Promise<void> {
  const confirmMs = Math.min(CONFIRM_MS, everyMs);
  const sleep = (milliseconds: number) => delay(milliseconds, signal).catch(() => {});
  while (!signal.aborted) {
    const keys = [...controller.keys()];
    const periodMs = everyMs * (0.8 + 0.4 * Math.random());
    if (keys.length === 0) await sleep(periodMs);
    for (const key of keys) {
      await sleep(periodMs / keys.length);
      if (signal.aborted) return;
      await resync(controller, key, () => sleep(confirmMs));
      if (signal.aborted) return;
    }
  }
}

/** A key whose objects change all the time has work at any moment: it slept only if no pass has read it in between. */
async function resync(controller: Resynced, key: string, sleep: () => Promise<void>): Promise<void> {
  if ((await forgotten(controller, key)) === undefined) return;
  const pass = controller.passOf(key);
  await sleep();
  const due = await forgotten(controller, key);
  if (due === undefined || controller.passOf(key) !== pass) return;
  // Asked for all the same: should the watch have lost the event, nothing else ever asks.
  if (due.awaitsEvent) controller.add(key);
  else controller.found(key, due.step);
}

function forgotten(controller: Checked, key: string): Promise<Due | undefined> {
  return controller.forgotten(key).catch(() => undefined);
}
