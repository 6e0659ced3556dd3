import { isDeepStrictEqual } from "node:util";
import { type Deployment, DONE, defined, type Outcome, type ReplicaSet, wait } from "@mooring/store";
import { conditionsOf, deadlineInMs, isComplete, type Progress } from "./conditions.ts";
import { type Limits, limitsOf, sum, wantedOf } from "./limits.ts";
import { shareOut } from "./proportions.ts";
import { NO_REVISION, nextRevision, revisionOf } from "./revisions.ts";
import { follow, rollOn, type Scale } from "./scale.ts";
import { isCurrent } from "./template.ts";

export interface DeploymentView {
  deployment: Deployment;
  /** The sets that it manages. */
  owned: readonly ReplicaSet[];
  /** Sets that have no controller and that the selector matches. */
  orphans: readonly ReplicaSet[];
  /** A set of another owner has the name that the next one would get. */
  nameTaken: boolean;
  /** Pods of old sets that have not ended. */
  oldPods: number;
  /** Milliseconds since the epoch. */
  now: number;
}

export type DeploymentStatus = NonNullable<Deployment["status"]>;

export type DeploymentStep =
  | { do: "adopt-set"; set: ReplicaSet }
  | { do: "create-set"; replicas: number; revision: number }
  | { do: "count-collision" }
  | { do: "set-revision"; set: ReplicaSet; revision: number }
  | { do: "record-revision"; revision: number }
  | ({ do: "scale-set" } & Scale)
  | { do: "delete-set"; set: ReplicaSet }
  | { do: "write-status"; status: DeploymentStatus };

/** One change at a time, until all pods are of the current template. */
export function decide(view: DeploymentView): DeploymentStep | Outcome {
  const { deployment, now } = view;
  const sets = inOrder(view.owned);
  const current = sets.findLast((set) => isCurrent(set, deployment));
  const limits = limitsOf(deployment);
  const progress = { deployment, current, sets, limits, now, counts: countsOf(sets, current, limits) };
  if (deployment.metadata.deletionTimestamp === undefined) {
    const step = manage(view, progress);
    if (step !== undefined) return step;
  }
  const status = statusOf(progress);
  if (!isDeepStrictEqual(deployment.status ?? {}, status)) return { do: "write-status", status };
  const surplus = isComplete(progress) ? surplusOf(progress) : undefined;
  if (surplus !== undefined) return { do: "delete-set", set: surplus };
  const deadline = deadlineInMs(progress);
  return deadline === undefined || deadline === 0 ? DONE : wait(deadline);
}

/** The oldest revision first. */
function inOrder(sets: readonly ReplicaSet[]): ReplicaSet[] {
  const age = ({ metadata }: ReplicaSet) => Date.parse(String(metadata.creationTimestamp ?? "")) || 0;
  return [...sets].sort((a, b) => revisionOf(a) - revisionOf(b) || age(a) - age(b));
}

function manage(view: DeploymentView, progress: Progress): DeploymentStep | undefined {
  const { deployment, limits, sets } = progress;
  const [orphan] = view.orphans;
  if (orphan !== undefined) return { do: "adopt-set", set: orphan };
  const recreate = deployment.spec?.strategy?.type === "Recreate";
  const shared = recreate ? undefined : scaled(resized(progress));
  if (shared !== undefined) return shared;
  if (deployment.spec?.paused === true) return scaled(follow(sets, limits));
  return recreate ? recreateAll(view, progress) : rollingUpdate(view, progress);
}

/** All sets follow a new number of replicas before the rollout goes on; once the new set has all pods, the old ones need not. */
function resized({ deployment, current, sets, limits }: Progress): Scale | undefined {
  const isSaturated =
    current !== undefined &&
    wantedOf(current) === limits.replicas &&
    (current.status?.availableReplicas ?? 0) === limits.replicas;
  return isSaturated ? undefined : shareOut(sets, limits, deployment.status?.replicas ?? 0);
}

function rollingUpdate(view: DeploymentView, progress: Progress): DeploymentStep | undefined {
  const { current, limits, sets } = progress;
  const old = sets.filter((set) => set !== current);
  const room = limits.replicas + limits.maxSurge - sum(old.map(wantedOf));
  if (current === undefined) return createSet(view, sets, Math.max(0, Math.min(limits.replicas, room)));
  return revise(progress, current) ?? scaled(rollOn({ current, old, limits }));
}

/** All old pods end before the first new one begins: for those that share a volume. */
function recreateAll(view: DeploymentView, progress: Progress): DeploymentStep | undefined {
  const { current, limits, sets } = progress;
  const old = sets.find((set) => set !== current && wantedOf(set) > 0);
  if (old !== undefined) return scaled({ set: old, replicas: 0 });
  if (view.oldPods > 0) return undefined;
  if (current === undefined) return createSet(view, sets, limits.replicas);
  const wanted = limits.replicas;
  const step = wantedOf(current) === wanted ? undefined : scaled({ set: current, replicas: wanted });
  return revise(progress, current) ?? step;
}

function createSet(
  { nameTaken }: DeploymentView,
  sets: readonly ReplicaSet[],
  replicas: number,
): DeploymentStep {
  if (nameTaken) return { do: "count-collision" };
  return { do: "create-set", replicas, revision: nextRevision(sets) };
}

/** The current set has the highest revision, also after a way back to an old template. */
function revise({ deployment, sets }: Progress, current: ReplicaSet): DeploymentStep | undefined {
  const next = nextRevision(sets.filter((set) => set !== current));
  if (revisionOf(current) < next) return { do: "set-revision", set: current, revision: next };
  const revision = revisionOf(current);
  return revisionOf(deployment) === revision || revision === NO_REVISION
    ? undefined
    : { do: "record-revision", revision };
}

const scaled = (scale: Scale | undefined): DeploymentStep | undefined =>
  scale === undefined ? undefined : { do: "scale-set", ...scale };

function countsOf(
  sets: readonly ReplicaSet[],
  current: ReplicaSet | undefined,
  { replicas }: Limits,
): DeploymentStatus {
  const total = (field: "replicas" | "readyReplicas" | "availableReplicas") =>
    sum(sets.map(({ status }) => status?.[field] ?? 0));
  const available = total("availableReplicas");
  const unavailable = Math.max(0, Math.max(replicas, sum(sets.map(wantedOf))) - available);
  return {
    replicas: total("replicas"),
    updatedReplicas: current?.status?.replicas ?? 0,
    readyReplicas: total("readyReplicas"),
    availableReplicas: available,
    unavailableReplicas: unavailable,
  };
}

function statusOf(progress: Progress): DeploymentStatus {
  const { deployment, counts } = progress;
  const { collisionCount } = deployment.status ?? {};
  return {
    observedGeneration: deployment.metadata.generation ?? 0,
    ...counts,
    conditions: conditionsOf(progress),
    ...defined({ collisionCount }),
  };
}

/** The oldest set beyond the history that is kept. */
function surplusOf({ deployment, current, sets }: Progress): ReplicaSet | undefined {
  const old = sets.filter(
    (set) =>
      set !== current &&
      wantedOf(set) === 0 &&
      (set.status?.replicas ?? 0) === 0 &&
      set.metadata.deletionTimestamp === undefined,
  );
  return old.length > (deployment.spec?.revisionHistoryLimit ?? 10) ? old[0] : undefined;
}
