import { isDeepStrictEqual } from "node:util";
import { DONE, type Outcome, wait } from "@mooring/store";
import type { GroupMember } from "../kube/volume-group.ts";
import { frozenFor, grantsNow, remainingMs } from "./freeze.ts";
import type { Growth } from "./growth.ts";
import { newsOf } from "./news.ts";
import { type Conditions, statusOf } from "./status.ts";
import type { Decision } from "./step.ts";
import type { CallName, VolumeGroupView } from "./view.ts";

/**
 * Writes the status, if anything in it is new; else rests until a back-off, or the time of a freeze, is over. A freeze that
 * was granted stays granted while it is wanted, and its time is not over; `mayFreeze`: nothing is being changed, so new
 * ones are granted, too.
 */
export function report(
  view: VolumeGroupView,
  conditions: Conditions,
  members: readonly GroupMember[] = view.group?.status?.members ?? [],
  { growth, mayFreeze = false }: { growth?: Growth | undefined; mayFreeze?: boolean } = {},
): Decision {
  const { group } = view;
  if (group === undefined) return rest(view);
  const frozen = grantsNow(view, group, mayFreeze);
  const status = statusOf(view, conditions, members, { frozen, growth: growth?.status });
  if (isDeepStrictEqual(status, group.status)) return rest(view);
  return { do: "write-status", status, news: newsOf(group.metadata.name, group.status, status) };
}

/**
 * Until the first back-off is over, or the next read is due. What is over or due already and was not asked again does not
 * count: no step needs it now.
 */
function rest(view: VolumeGroupView): Outcome {
  const { canGetGroup, content, freezes, group, refusedGrowth, storage } = view;
  const backoff = [
    ...(group?.spec.memberSize === undefined
      ? []
      : [...refusedGrowth.values()].map(({ backoffMs }) => backoffMs)),
    ...[...storage.failures.values()].map(({ backoffMs }) => backoffMs),
    ...[...storage.refused.values()].map(({ backoffMs }) => backoffMs),
    ...(canGetGroup && content?.status?.volumeGroupHandle !== undefined ? [storage.dueMs] : []),
    ...(group === undefined ? [] : frozenFor(group, freezes).map((grant) => remainingMs(grant, view))),
  ].filter((ms) => ms > 0 && Number.isFinite(ms));
  return backoff.length === 0 ? DONE : wait(Math.min(...backoff));
}

/** Whether this request must not be sent now. */
export function isBackingOff({ storage }: VolumeGroupView, call: CallName, requestKey: string): boolean {
  const failure = storage.failures.get(call);
  return failure !== undefined && failure.requestKey === requestKey && failure.backoffMs > 0;
}
