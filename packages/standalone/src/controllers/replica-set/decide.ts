import { isDeepStrictEqual } from "node:util";
import { DONE, defined, type Outcome, type Pod, type ReplicaSet, wait } from "@mooring/store";
import { isFinished } from "../pod-claims.ts";
import { labelsOf, selects } from "../workloads/owners.ts";
import { availability, isActive, isReady } from "../workloads/pods.ts";
import { firstToGo } from "./first-to-go.ts";

export interface ReplicaSetView {
  set: ReplicaSet;
  /** Pods that the set manages. */
  owned: readonly Pod[];
  /** Pods that have no controller and that the selector matches. */
  orphans: readonly Pod[];
  /** Why the last pod could not be created. */
  failure: string | undefined;
  /** Milliseconds since the epoch. */
  now: number;
}

export type ReplicaSetStatus = NonNullable<ReplicaSet["status"]>;

export type ReplicaSetStep =
  | { do: "release-pod"; pod: Pod }
  | { do: "adopt-pod"; pod: Pod }
  | { do: "create-pod" }
  | { do: "delete-pod"; pod: Pod }
  | { do: "write-status"; status: ReplicaSetStatus };

/** As many pods as the set wants, one change at a time. */
export function decide(view: ReplicaSetView): ReplicaSetStep | Outcome {
  const { set } = view;
  const change = set.metadata.deletionTimestamp === undefined ? manage(view) : undefined;
  // It is over when no pod is missing any more, as after the set was made smaller.
  const failure = change?.do === "create-pod" ? view.failure : undefined;
  if (change !== undefined && failure === undefined) return change;
  const { status, nextMs } = statusOf({ ...view, failure });
  if (!isDeepStrictEqual(set.status ?? {}, status)) return { do: "write-status", status };
  return change ?? (nextMs === undefined ? DONE : wait(nextMs));
}

function manage({ set, owned, orphans }: ReplicaSetView): ReplicaSetStep | undefined {
  const foreign = owned.find((pod) => isActive(pod) && !selects(set, pod));
  if (foreign !== undefined) return { do: "release-pod", pod: foreign };
  const [orphan] = orphans;
  if (orphan !== undefined) return { do: "adopt-pod", pod: orphan };
  const active = owned.filter(isActive);
  const missing = (set.spec?.replicas ?? 1) - active.length;
  if (missing > 0) return { do: "create-pod" };
  const [surplus] = missing < 0 ? firstToGo(active) : [];
  return surplus === undefined ? undefined : { do: "delete-pod", pod: surplus };
}

/** What the status should say, and after how many milliseconds it changes by time alone. */
function statusOf({ set, owned, failure, now }: ReplicaSetView) {
  const pods = owned.filter((pod) => !isFinished(pod) && pod.metadata.deletionTimestamp === undefined);
  const labels = Object.entries(labelsOf(set.spec?.template));
  const labeled = pods.filter(({ metadata }) =>
    labels.every(([key, value]) => metadata.labels?.[key] === value),
  );
  const { available, nextMs } = availability(pods.filter(isReady), set.spec?.minReadySeconds ?? 0, now);
  const status: ReplicaSetStatus = {
    replicas: pods.length,
    fullyLabeledReplicas: labeled.length,
    readyReplicas: pods.filter(isReady).length,
    availableReplicas: available,
    observedGeneration: set.metadata.generation ?? 0,
    ...defined({ conditions: conditionsOf(set, failure, now) }),
  };
  return { status, nextMs };
}

function conditionsOf(set: ReplicaSet, failure: string | undefined, now: number) {
  const before = set.status?.conditions ?? [];
  const others = before.filter(({ type }) => type !== "ReplicaFailure");
  if (failure === undefined) return others.length === 0 ? undefined : others;
  const known = before.find(({ type, message }) => type === "ReplicaFailure" && message === failure);
  const condition = known ?? {
    type: "ReplicaFailure",
    status: "True",
    reason: "FailedCreate",
    message: failure,
    lastTransitionTime: new Date(now).toISOString().replace(/\.\d+Z$/, "Z"),
  };
  return [...others, condition];
}
