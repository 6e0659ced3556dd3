import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { defined } from "@mooring/store";
import type { Clock } from "./host.ts";

/** The machine's clock. */
export function createClock(): Clock {
  return {
    now: () => new Date(),
    // From memory, in microseconds.
    sinceBoot: () => Number(readFileSync("/proc/uptime", "latin1").split(" ")[0]) * 1000,
    sleep: async (milliseconds, signal) => {
      try {
        await sleep(milliseconds, undefined, defined({ signal }));
      } catch (error) {
        throw signal?.aborted ? signal.reason : error;
      }
    },
  };
}
