import {
  EventRecorder,
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
import { decide, type ReplicaSetStep, type ReplicaSetView } from "./decide.ts";
import { readReplicaSet } from "./read.ts";

interface ReplicaSetOptions {
  store: ObjectStore;
  view: Pick<ClusterView, "pods">;
  workloads: Pick<WorkloadsView, "replicaSets">;
  logger: Logger;
  signal: AbortSignal;
}

/** Keeps as many pods as each ReplicaSet wants. */
export function startReplicaSets(options: ReplicaSetOptions): { done: Promise<void> } {
  const { store, view, workloads, logger, signal } = options;
  const events = new EventRecorder(store, { component: "replicaset-controller", logger });
  const caches = {
    sets: new WrittenCache(store, workloads.replicaSets),
    pods: new WrittenCache(store, view.pods),
    failures: new Map<string, string>(),
  };
  const reconciler = new Reconciler<ReplicaSetView, ReplicaSetStep | Outcome>({
    ...{ name: "replica-set", store, logger },
    sources: [source(workloads.replicaSets, (set) => [keyOf(set)])],
    watched: [view.pods],
    // A set has as many steps as pods are missing.
    mostSteps: 10_000,
    read: (key, context) => readReplicaSet(key, caches, context),
    decide,
    apply: (step, { set }) => applyStep(step as ReplicaSetStep, set, { ...caches, store, events }),
    isOutdated: isConflict,
  });
  return { done: reconciler.run(signal).then(() => events.flush()) };
}
