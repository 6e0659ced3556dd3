import { defined, type StatefulSet } from "@mooring/store";
import { isFinished } from "../pod-claims.ts";
import { availability, isReady } from "../workloads/pods.ts";
import { ordinalsOf, revisionOf } from "./identity.ts";
import type { Rollout } from "./rollout.ts";

export type SetStatus = NonNullable<StatefulSet["status"]>;

/** What `kubectl rollout status` reads. The current revision becomes that of the update when all pods are of it, and ready. */
export function statusOf({ set, owned, update, current, now }: Rollout): SetStatus {
  const pods = owned.filter((pod) => !isFinished(pod));
  const live = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const ready = live.filter(isReady);
  const of = (revision: string) => live.filter((pod) => revisionOf(pod) === revision).length;
  const updated = of(update.metadata.name);
  const wanted = ordinalsOf(set).length;
  const rolls = set.spec?.updateStrategy?.type !== "OnDelete";
  const complete = rolls && updated === wanted && pods.length === wanted && ready.length === wanted;
  const currentRevision = complete ? update.metadata.name : current.metadata.name;
  const { collisionCount = 0, conditions } = set.status ?? {};
  return {
    observedGeneration: set.metadata.generation ?? 0,
    replicas: pods.length,
    readyReplicas: ready.length,
    availableReplicas: availability(ready, set.spec?.minReadySeconds ?? 0, now).available,
    currentReplicas: of(currentRevision),
    updatedReplicas: updated,
    currentRevision,
    updateRevision: update.metadata.name,
    collisionCount,
    ...defined({ conditions }),
  };
}
