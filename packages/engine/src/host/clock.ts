import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "./host.ts";

/** The machine's clock. */
export function createClock(): Clock {
  return {
    now: () => new Date(),
    sleep: async (milliseconds, signal) => {
      try {
        await sleep(milliseconds, undefined, signal === undefined ? {} : { signal });
      } catch (error) {
        throw signal?.aborted ? signal.reason : error;
      }
    },
  };
}
