import type { Deployment, ReplicaSet } from "@mooring/store";
import { type Limits, wantedOf } from "./limits.ts";

type Status = NonNullable<Deployment["status"]>;
type Condition = NonNullable<Status["conditions"]>[number];
type Draft = Pick<Condition, "type" | "status"> & { reason: string; message: string };

/** Reasons of a rollout under way or done: with these, progress renews the time. */
const MOVING = ["ReplicaSetUpdated", "NewReplicaSetAvailable"];

export interface Progress {
  deployment: Deployment;
  current: ReplicaSet | undefined;
  sets: readonly ReplicaSet[];
  counts: Status;
  limits: Limits;
  /** Milliseconds since the epoch. */
  now: number;
}

export const timeOf = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");

/** All pods are of the current template, and available. */
export function isComplete({ counts, limits, sets, current }: Omit<Progress, "now">): boolean {
  const { replicas } = limits;
  const old = sets.filter((set) => set !== current);
  return (
    current !== undefined &&
    (counts.updatedReplicas ?? 0) === replicas &&
    (counts.replicas ?? 0) === replicas &&
    (counts.availableReplicas ?? 0) === replicas &&
    old.every((set) => wantedOf(set) === 0)
  );
}

/** The conditions as they should be: what has not changed keeps its times. */
export function conditionsOf(progress: Progress): Condition[] {
  const before = progress.deployment.status?.conditions ?? [];
  const drafts = [available(progress), progressing(progress), failure(progress)].filter(
    (draft) => draft !== undefined,
  );
  return drafts.map((draft) => dated(draft, before, progress));
}

function dated(draft: Draft, before: readonly Condition[], progress: Progress): Condition {
  const now = timeOf(progress.now);
  const old = before.find(({ type }) => type === draft.type);
  const moved = MOVING.includes(draft.reason) && hasProgressed(progress);
  const equal = old?.status === draft.status && old.reason === draft.reason && old.message === draft.message;
  if (old !== undefined && equal && !moved) return old;
  const since = old?.status === draft.status ? (old.lastTransitionTime ?? now) : now;
  return { ...draft, lastUpdateTime: now, lastTransitionTime: since };
}

function available({ counts, limits }: Progress): Draft {
  const enough = (counts.availableReplicas ?? 0) >= limits.replicas - limits.maxUnavailable;
  return {
    type: "Available",
    status: enough ? "True" : "False",
    reason: enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
    message: `Deployment ${enough ? "has" : "does not have"} minimum availability.`,
  };
}

function progressing(progress: Progress): Draft | undefined {
  const { deployment, current } = progress;
  const type = "Progressing";
  if (deployment.spec?.paused === true) {
    const message = "Deployment is paused";
    return { type, status: "Unknown", reason: "DeploymentPaused", message };
  }
  const name = current?.metadata.name ?? "";
  if (isComplete(progress)) {
    const message = `ReplicaSet "${name}" has successfully progressed.`;
    return { type, status: "True", reason: "NewReplicaSetAvailable", message };
  }
  if (deadlineInMs(progress) === 0) {
    const message = `ReplicaSet "${name}" has timed out progressing.`;
    return { type, status: "False", reason: "ProgressDeadlineExceeded", message };
  }
  return {
    type,
    status: "True",
    reason: "ReplicaSetUpdated",
    message: `ReplicaSet "${name}" is progressing.`,
  };
}

function failure({ sets }: Progress): Draft | undefined {
  const failed = sets
    .filter((set) => wantedOf(set) > 0)
    .flatMap(({ status }) => status?.conditions ?? [])
    .find(({ type, status }) => type === "ReplicaFailure" && status === "True");
  if (failed === undefined) return undefined;
  const { reason = "FailedCreate", message = "" } = failed;
  return { type: "ReplicaFailure", status: "True", reason, message };
}

function hasProgressed({ deployment, counts, current }: Progress): boolean {
  const before = deployment.status ?? {};
  const was = before.conditions?.find(({ type }) => type === "Progressing");
  const more = (field: "updatedReplicas" | "readyReplicas" | "availableReplicas") =>
    (counts[field] ?? 0) > (before[field] ?? 0);
  const old = (status: Status) => (status.replicas ?? 0) - (status.updatedReplicas ?? 0);
  const another = current !== undefined && !(was?.message ?? "").includes(`"${current.metadata.name}"`);
  return (
    another ||
    more("updatedReplicas") ||
    more("readyReplicas") ||
    more("availableReplicas") ||
    old(counts) < old(before)
  );
}

/** Milliseconds until a rollout without progress counts as failed; undefined when none is under way. */
export function deadlineInMs(progress: Progress): number | undefined {
  const { deployment, now } = progress;
  if (deployment.spec?.paused === true || isComplete(progress) || hasProgressed(progress)) return undefined;
  const seconds = deployment.spec?.progressDeadlineSeconds ?? 600;
  const last = deployment.status?.conditions?.find(({ type }) => type === "Progressing");
  // One that was complete and has lost a pod does not begin a new rollout.
  if (last === undefined || last.reason === "NewReplicaSetAvailable") return undefined;
  if (last.reason === "ProgressDeadlineExceeded") return 0;
  const since = Date.parse(String(last.lastUpdateTime ?? ""));
  return Number.isNaN(since) ? undefined : Math.max(0, since + seconds * 1000 - now);
}
