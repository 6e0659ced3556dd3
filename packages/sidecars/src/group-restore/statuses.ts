import type { Condition } from "@mooring/store";
import { defined } from "@mooring/store";
import type { MemberStatus, RestorePhase, VolumeGroupRestore } from "../kube/group-restore.ts";
import { isComplete, NO_VOLUME_YET } from "./assess.ts";
import type { Obstacle } from "./obstacle.ts";

/** The status of a VolumeGroupRestore. */
export type RestoreStatus = NonNullable<VolumeGroupRestore["status"]>;

/** One row per outcome: the phase that `kubectl get` shows, and the conditions that can be waited for. */
const CONDITIONS: Readonly<Record<RestorePhase, Record<"Complete" | "Ready" | "Failed", boolean>>> = {
  Waiting: { Complete: false, Ready: false, Failed: false },
  Restoring: { Complete: false, Ready: false, Failed: false },
  Failed: { Complete: false, Ready: false, Failed: true },
  Complete: { Complete: true, Ready: false, Failed: false },
  Ready: { Complete: true, Ready: true, Failed: false },
};

/** Nothing has been made: the group snapshot is not ready, or the restore cannot be whole. */
export function obstacleStatus(restore: VolumeGroupRestore, obstacle: Obstacle, now: string): RestoreStatus {
  const phase = obstacle.kind === "wait" ? "Waiting" : "Failed";
  return { ...header(restore, phase, obstacle, now) };
}

/** What a progress is reported of besides the claims. */
interface Around {
  /** Part of the first of these. */
  source: RestoreStatus["source"];
  /** The group that is made of the claims. */
  made?: { name: string; joined: number; trouble?: string; waits?: string } | undefined;
}

/** Where all claims are, given their phases. */
export function progressStatus(
  restore: VolumeGroupRestore,
  members: MemberStatus[],
  { made, source }: Around,
  now: string,
): RestoreStatus {
  const count = (...phases: MemberStatus["phase"][]) =>
    members.filter(({ phase }) => phases.includes(phase)).length;
  const total = members.length;
  const bound = count("Bound");
  const late = count("WaitForFirstConsumer");
  const created = bound + late + count("Provisioning");
  const outcome = grouped(outcomeOf(restore, members, { total, bound, late }), made);
  return {
    ...header(restore, outcome.phase, outcome, now),
    ...defined({ source }),
    claims: { total, created, bound },
    members,
    ...(made === undefined ? {} : { volumeGroup: { name: made.name, joined: made.joined } }),
  };
}

interface Outcome {
  phase: RestorePhase;
  reason: string;
  message: string;
}

/** All claims are there and can be used before they are in their group; it is ready when they are. */
function grouped(outcome: Outcome, made: Around["made"]): Outcome {
  const { trouble, waits } = made ?? {};
  const message = [outcome.message, ...((trouble ?? waits) ? [trouble ?? waits] : [])].join("; ");
  if (trouble !== undefined) return { phase: "Failed", reason: "VolumeGroupFailed", message };
  if (waits === undefined || outcome.phase === "Failed") return outcome;
  return outcome.phase === "Ready"
    ? { phase: "Complete", reason: "Grouping", message }
    : { ...outcome, message };
}

function outcomeOf(
  restore: VolumeGroupRestore,
  members: readonly MemberStatus[],
  { total, bound, late }: { total: number; bound: number; late: number },
): Outcome {
  const failed = members.filter(({ phase }) => phase === "Failed");
  const progress = `${bound} of ${total} claims are bound`;
  if (bound === total) return { phase: "Ready", reason: "AllClaimsBound", message: progress };
  if (failed.length > 0) {
    const message = failed.map((member) => `${member.claimName}: ${member.message}`).join("; ");
    return { phase: "Failed", reason: "ClaimsFailed", message };
  }
  if (bound + late === total || isComplete(restore)) {
    const reason = late > 0 ? "WaitForFirstConsumer" : "AllClaimsCreated";
    const message = late > 0 ? `${progress}, ${late} wait for a Pod that uses them` : progress;
    return { phase: "Complete", reason, message };
  }
  const waiting = members.filter(({ message }) => message.startsWith(NO_VOLUME_YET));
  const why = waiting.map((member) => `${member.claimName} ${member.message}`);
  return { phase: "Restoring", reason: "Restoring", message: [progress, ...why].join("; ") };
}

function header(
  restore: VolumeGroupRestore,
  phase: RestorePhase,
  { reason, message }: { reason: string; message: string },
  now: string,
): RestoreStatus {
  const { generation } = restore.metadata;
  const values = { ...CONDITIONS[phase], ...(isComplete(restore) ? { Complete: true } : {}) };
  const conditions = Object.entries(values).map(([type, is]): Condition => {
    const status = is ? "True" : "False";
    const before = restore.status?.conditions?.find((condition) => condition.type === type);
    const lastTransitionTime = before?.status === status ? before.lastTransitionTime : now;
    return { type, status, reason, message, lastTransitionTime };
  });
  return {
    phase,
    message,
    ...defined({ observedGeneration: generation }),
    conditions,
  };
}
