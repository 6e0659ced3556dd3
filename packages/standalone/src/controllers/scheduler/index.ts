import {
  EventRecorder,
  isConflict,
  isNotFound,
  keyOf,
  type Logger,
  type ObjectStore,
  type Pod,
  Reconciler,
  source,
  stepFailpoints,
  WrittenCache,
} from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import { isFinished } from "../pod-claims.ts";
import { applyStep } from "./apply.ts";
import { decidePod, isWaiting, type PodStep, type PodView, SCHEDULER } from "./decide.ts";
import { SchedulerMemory } from "./memory.ts";
import { readPod } from "./read.ts";
import { ROOM } from "./view.ts";

const failpoints = stepFailpoints<PodStep>("standalone/scheduler", {
  bind: true,
  "select-node": true,
  "unselect-node": true,
  "report-unschedulable": true,
});

interface SchedulerOptions {
  store: ObjectStore;
  view: ClusterView;
  logger: Logger;
  signal: AbortSignal;
}

/** Gives each pod a node that can run it and reach its volumes. */
export async function startScheduler(options: SchedulerOptions): Promise<{ done: Promise<void> }> {
  const { store, view, logger, signal } = options;
  const events = new EventRecorder(store, { component: SCHEDULER, logger });
  const context = {
    ...{ store, view, events },
    memory: new SchedulerMemory(),
    pods: new WrittenCache(store, view.pods),
    claims: new WrittenCache(store, view.claims),
    volumes: new WrittenCache(store, view.volumes),
  };
  const scheduler = new Reconciler<PodView, PodStep>({
    ...{ name: "scheduler", store, logger, failpoints },
    // One at a time: each decision counts the ones before it.
    concurrency: 1,
    sources: [source(view.pods, (pod) => (isWaiting(pod) ? [keyOf(pod)] : []))],
    watched: [
      ...[view.claims, view.volumes, view.classes, view.nodes],
      ...[view.csiNodes, view.capacities, view.drivers],
    ],
    // What has room for a pod may shrink without an event: then the pod comes again after a while. Room that grows is
    // an event, and with it a place.
    polls: ["unselect-node", "report-unschedulable"],
    read: (key, from) => readPod(key, context, from),
    isGone: ({ pod }) => pod === undefined,
    decide: decidePod,
    async apply(step, { pod }) {
      if (pod !== undefined) await applyStep(step, pod, context);
    },
    isOutdated: (error) => isConflict(error) || isNotFound(error),
  });
  const unfollow = view.pods.onChange((old, current) => {
    const leaves = current === undefined || !isWaiting(current);
    const wasPlaced = leaves && context.memory.forget(current ?? (old as Pod));
    if ((takesRoom(old) || wasPlaced) && !takesRoom(current)) scheduler.changed(ROOM);
  });
  const done = scheduler.run(signal).finally(unfollow);
  return { done: done.then(() => events.flush()) };
}

function takesRoom(pod: Pod | undefined): boolean {
  return pod !== undefined && Boolean(pod.spec?.nodeName) && !isFinished(pod);
}
