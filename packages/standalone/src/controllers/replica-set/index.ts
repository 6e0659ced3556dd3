import { type ReplicaSet, stepFailpoints, WrittenCache } from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import { type WorkloadRun, workloadController } from "../workloads/controller.ts";
import type { WorkloadsView } from "../workloads/view.ts";
import { applyStep } from "./apply.ts";
import { decide, type ReplicaSetStep, type ReplicaSetView } from "./decide.ts";
import { type CreateFailure, readReplicaSet } from "./read.ts";

const failpoints = stepFailpoints<ReplicaSetStep>("standalone/replica-set", {
  "release-pod": true,
  "adopt-pod": true,
  "create-pod": true,
  "delete-pod": true,
  "write-status": true,
});

interface ReplicaSetOptions extends WorkloadRun {
  view: Pick<ClusterView, "pods">;
  workloads: Pick<WorkloadsView, "replicaSets">;
}

/** Keeps as many pods as each ReplicaSet wants. */
export function startReplicaSets({ view, workloads, ...run }: ReplicaSetOptions): { done: Promise<void> } {
  const { store } = run;
  const failures = new Map<string, CreateFailure>();
  const caches = {
    sets: new WrittenCache(store, workloads.replicaSets),
    pods: new WrittenCache(store, view.pods),
    failures,
  };
  return workloadController<ReplicaSet, ReplicaSetView, ReplicaSetStep>(run, {
    ...{ name: "replica-set", component: "replicaset-controller", failpoints },
    objects: workloads.replicaSets,
    watched: [view.pods],
    read: (key, context) => readReplicaSet(key, caches, context),
    decide,
    apply: (step, { set }, events) => applyStep(step, set, { ...caches, store, events }),
    ended: async (key) => {
      if (caches.sets.get(key) === undefined) failures.delete(key);
    },
  });
}
