import {
  EventRecorder,
  isAlreadyExists,
  isConflict,
  keyOf,
  type Logger,
  type ObjectStore,
  type Outcome,
  Reconciler,
  source,
  WrittenCache,
} from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import type { WorkloadsView } from "../workloads/view.ts";
import { applyStep } from "./apply.ts";
import { decide, type StatefulSetStep } from "./decide.ts";
import { readStatefulSet } from "./read.ts";
import type { StatefulSetView } from "./rollout.ts";

interface StatefulSetOptions {
  store: ObjectStore;
  view: Pick<ClusterView, "claims" | "pods">;
  workloads: Pick<WorkloadsView, "revisions" | "statefulSets">;
  logger: Logger;
  signal: AbortSignal;
}

/** Keeps the pods of each StatefulSet, each with its name and its claims. */
export function startStatefulSets(options: StatefulSetOptions): { done: Promise<void> } {
  const { store, view, workloads, logger, signal } = options;
  const events = new EventRecorder(store, { component: "statefulset-controller", logger });
  const caches = {
    sets: new WrittenCache(store, workloads.statefulSets),
    pods: new WrittenCache(store, view.pods),
    claims: new WrittenCache(store, view.claims),
    revisions: new WrittenCache(store, workloads.revisions),
  };
  const reconciler = new Reconciler<StatefulSetView, StatefulSetStep | Outcome>({
    ...{ name: "stateful-set", store, logger },
    sources: [source(workloads.statefulSets, (set) => [keyOf(set)])],
    watched: [view.pods, view.claims, workloads.revisions],
    mostSteps: 10_000,
    read: (key, context) => readStatefulSet(key, caches, context),
    decide,
    apply: (step, { set }) => applyStep(step as StatefulSetStep, set, { ...caches, store, events }),
    isOutdated: (error) => isConflict(error) || isAlreadyExists(error),
  });
  return { done: reconciler.run(signal).then(() => events.flush()) };
}
