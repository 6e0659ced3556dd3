import type { Condition } from "@mooring/store";
import { defined } from "@mooring/store";
import type { RevertPhase, RevertStatus, VolumeGroupRevert } from "../../api/group-revert.ts";
import { isBack, type RevertView } from "./view.ts";

type ConditionType = "Held" | "Committed" | "Complete" | "Failed";

/** Which conditions are true in a phase, to be waited for with `kubectl wait`. */
const TRUE: Readonly<Record<RevertPhase, readonly ConditionType[]>> = {
  Waiting: [],
  Holding: [],
  Reverting: ["Held", "Committed"],
  Complete: ["Committed", "Complete"],
  Failed: ["Failed"],
};
const TYPES: readonly ConditionType[] = ["Held", "Committed", "Complete", "Failed"];

/** What a revert's status reports. */
export interface RevertReport {
  phase: RevertPhase;
  /** CamelCase. */
  reason: string;
  message: string;
}

/** The status with the report; what it had before stays where nothing has changed. */
export function statusReporting(view: RevertView, { phase, reason, message }: RevertReport): RevertStatus {
  const { revert, now } = view;
  const time = `${now.toISOString().slice(0, 19)}Z`;
  const before = revert.status;
  const conditions = TYPES.map((type) => {
    const status = TRUE[phase].includes(type) ? "True" : "False";
    return condition({ type, status, reason, message }, { revert, time });
  });
  const finished = phase === "Complete" || phase === "Failed";
  return {
    ...before,
    ...{ phase, message },
    ...defined({ observedGeneration: revert.metadata.generation }),
    ...(view.members.length === 0 ? {} : { volumes: count(view) }),
    ...(phase === "Reverting" ? { committedAt: before?.committedAt ?? now.toISOString() } : {}),
    ...(finished ? { finishedAt: now.toISOString() } : {}),
    conditions,
  };
}

/** True when the object has it already. */
export function isReported({ revert, ...view }: RevertView, { phase, message }: RevertReport): boolean {
  const { status } = revert;
  const counts = view.members.length === 0 ? status?.volumes : count({ revert, ...view });
  const same = JSON.stringify(counts) === JSON.stringify(status?.volumes);
  return status?.phase === phase && status.message === message && same;
}

/** One that is back counts as `held`, also when its ticket has ended before those of the others. */
function count({ revert, members }: RevertView): NonNullable<RevertStatus["volumes"]> {
  return {
    total: members.length,
    held: members.filter((member) => member.held || isBack(revert, member)).length,
    reverted: members.filter((member) => isBack(revert, member)).length,
  };
}

function condition(
  reported: Pick<Condition, "type" | "status" | "reason" | "message">,
  { revert, time }: { revert: VolumeGroupRevert; time: string },
): Condition {
  const before = revert.status?.conditions?.find(({ type }) => type === reported.type);
  const lastTransitionTime = before?.status === reported.status ? before.lastTransitionTime : time;
  const { generation } = revert.metadata;
  return {
    ...reported,
    lastTransitionTime,
    ...defined({ observedGeneration: generation }),
  };
}
