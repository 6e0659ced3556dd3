import { msLeft } from "@mooring/store";
import type { ContainerStatus } from "../../runtime/index.ts";

const FIRST_MS = 10_000;
const LONGEST_MS = 300_000;
/** A container that ran for so long has recovered. */
const RESET_MS = 600_000;

/**
 * How long after its end a container is started again: at once the first time, then 10 s, 20 s, ... 5 min. An end that came
 * with Mooring's or the machine's own is no crash.
 */
export function restartDelayMs({ attempt, startedAt, exit }: ContainerStatus): number {
  const ran = Date.parse(exit?.finishedAt ?? "") - Date.parse(startedAt ?? "");
  if (attempt === 0 || ran >= RESET_MS || exit?.shutdown) return 0;
  return Math.min(FIRST_MS * 2 ** (attempt - 1), LONGEST_MS);
}

/** Milliseconds left until a restart is due. */
export function waitBeforeRestart(status: ContainerStatus, now: number): number {
  const since = Date.parse(status.exit?.finishedAt ?? "");
  return msLeft({ since, forMs: restartDelayMs(status), now });
}
