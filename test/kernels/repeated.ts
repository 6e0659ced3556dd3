import { eventually } from "@mooring/store/testing";

/** Far longer than a node that is lost keeps anybody waiting on a machine that does much else. */
const WITHIN_MS = 600_000;

/** As an orchestrator makes a call: again, for as long as it is refused, or pending. `lastSeen`: what there is instead. */
export function repeated<T>(
  what: string,
  call: () => Promise<T>,
  lastSeen: () => unknown = () => undefined,
): Promise<Exclude<T, undefined | false>> {
  return eventually(what, call, { withinMs: WITHIN_MS, everyMs: 200, mayThrow: true, lastSeen });
}
