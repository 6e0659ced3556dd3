import { type StatefulSet, stepFailpoints, WrittenCache } from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import { type WorkloadRun, workloadController } from "../workloads/controller.ts";
import type { WorkloadsView } from "../workloads/view.ts";
import { applyStep } from "./apply.ts";
import { decide, type StatefulSetStep } from "./decide.ts";
import { readStatefulSet } from "./read.ts";
import type { StatefulSetView } from "./rollout.ts";

const failpoints = stepFailpoints<StatefulSetStep>("standalone/stateful-set", {
  "create-revision": true,
  "adopt-revision": true,
  "count-collision": true,
  "raise-revision": true,
  "delete-revision": true,
  "adopt-pod": true,
  "create-claim": true,
  "set-claim-owners": true,
  "size-claim": true,
  "create-pod": true,
  "delete-pod": true,
  "write-status": true,
});

interface StatefulSetOptions extends WorkloadRun {
  view: Pick<ClusterView, "claims" | "pods">;
  workloads: Pick<WorkloadsView, "revisions" | "statefulSets">;
}

/** Keeps the pods of each StatefulSet, each with its name and its claims. */
export function startStatefulSets({ view, workloads, ...run }: StatefulSetOptions): { done: Promise<void> } {
  const { store } = run;
  const caches = {
    sets: new WrittenCache(store, workloads.statefulSets),
    pods: new WrittenCache(store, view.pods),
    claims: new WrittenCache(store, view.claims),
    revisions: new WrittenCache(store, workloads.revisions),
    refused: new Map<string, string>(),
  };
  return workloadController<StatefulSet, StatefulSetView, StatefulSetStep>(run, {
    ...{ name: "stateful-set", component: "statefulset-controller", failpoints },
    objects: workloads.statefulSets,
    watched: [view.pods, view.claims, workloads.revisions],
    read: (key, context) => readStatefulSet(key, caches, context),
    decide,
    apply: (step, { set }, events) => applyStep(step, set, { ...caches, store, events }),
    ended: async (key) => {
      if (caches.sets.get(key) === undefined) caches.refused.delete(key);
    },
  });
}
