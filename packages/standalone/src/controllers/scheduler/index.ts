import {
  EventRecorder,
  failpoint,
  isNotFound,
  keyOf,
  type Logger,
  mutate,
  type ObjectStore,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Pod,
  Pods,
  parseKey,
  runController,
  source,
  WorkQueue,
} from "@mooring/store";
import { SELECTED_NODE } from "../binder/names.ts";
import { reserved } from "../binder/reserve.ts";
import type { ClusterView } from "../cluster-view.ts";
import { isFinished } from "../pod-claims.ts";
import { withCondition } from "../pod-conditions.ts";
import { decide, type SchedulingStep } from "./decide.ts";
import { schedulingView } from "./view.ts";

const afterSelect = failpoint("standalone/scheduler/node-selected");
const afterBind = failpoint("standalone/scheduler/bound");

/** Pods that ask for another scheduler are not ours. */
const SCHEDULER = "default-scheduler";
/** How long an unschedulable pod waits at most when nothing seems to change. */
const RETRY_MS = 60_000;

export interface SchedulerOptions {
  store: ObjectStore;
  view: ClusterView;
  logger: Logger;
  signal: AbortSignal;
}

/** Gives each pod a node that can run it and reach its volumes. */
export async function startScheduler(options: SchedulerOptions): Promise<{ done: Promise<void> }> {
  const { store, view, logger, signal } = options;
  const events = new EventRecorder(store, { component: SCHEDULER, logger });
  const assumed = new Map<string, string>();
  const queue = new WorkQueue();
  const all = () => pending(view).map(keyOf);
  const done = runController(
    {
      name: "scheduler",
      logger,
      queue,
      // One at a time: each decision counts the ones before it.
      concurrency: 1,
      sources: [
        source(view.pods, (pod) => {
          if (pod.spec?.nodeName) assumed.delete(pod.metadata.uid ?? "");
          // A pod that went may have made room.
          return isWaiting(pod) ? [keyOf(pod)] : isFinished(pod) || isLeaving(view, pod) ? all() : [];
        }),
        source(view.claims, (claim) => view.pods.byIndex("claim", keyOf(claim)).filter(isWaiting).map(keyOf)),
        source(view.volumes, ({ spec }) =>
          spec?.claimRef === undefined
            ? all()
            : view.pods
                .byIndex("claim", `${spec.claimRef.namespace}/${spec.claimRef.name}`)
                .filter(isWaiting)
                .map(keyOf),
        ),
        source(view.classes, all),
        source(view.nodes, all),
        source(view.csiNodes, all),
        source(view.capacities, all),
      ],
      reconcile: (key) => schedule(options, events, assumed, key),
    },
    signal,
  );
  return { done: done.then(() => events.flush()) };
}

function isWaiting(pod: Pod): boolean {
  const { spec, metadata } = pod;
  return (
    !spec?.nodeName &&
    metadata.deletionTimestamp === undefined &&
    !isFinished(pod) &&
    (spec?.schedulerName ?? SCHEDULER) === SCHEDULER
  );
}

function isLeaving(view: ClusterView, pod: Pod): boolean {
  return view.pods.get(keyOf(pod)) === undefined;
}

function pending(view: ClusterView): Pod[] {
  return view.pods.list().filter(isWaiting);
}

async function schedule(
  options: SchedulerOptions,
  events: EventRecorder,
  assumed: Map<string, string>,
  key: string,
): Promise<{ requeueAfterMs: number } | undefined> {
  const { store, view, signal } = options;
  const pod = view.pods.get(key);
  if (pod === undefined || !isWaiting(pod) || assumed.has(pod.metadata.uid ?? "")) return undefined;
  const gates = pod.spec?.schedulingGates ?? [];
  if (gates.length > 0) {
    await setUnscheduled(
      store,
      pod,
      "SchedulingGated",
      "Scheduling is blocked due to non-empty scheduling gates",
    );
    return undefined;
  }
  const step = decide(schedulingView(view, pod, assumed));
  try {
    return await apply(options, events, assumed, pod, step);
  } catch (error) {
    assumed.delete(pod.metadata.uid ?? "");
    signal.throwIfAborted();
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function apply(
  { store }: SchedulerOptions,
  events: EventRecorder,
  assumed: Map<string, string>,
  pod: Pod,
  step: SchedulingStep,
): Promise<{ requeueAfterMs: number } | undefined> {
  switch (step.do) {
    case "bind": {
      assumed.set(pod.metadata.uid ?? "", step.node);
      await store.update(Pods, {
        ...pod,
        spec: { ...pod.spec, containers: pod.spec?.containers ?? [], nodeName: step.node },
      });
      afterBind();
      events.event(pod, "Normal", "Scheduled", `Successfully assigned ${keyOf(pod)} to ${step.node}`);
      return undefined;
    }
    case "selectNode":
      // The reservation first: it is what makes the choice of this volume hold.
      if (step.volume !== undefined) await store.update(PersistentVolumes, reserved(step.volume, step.claim));
      await mutate(store, PersistentVolumeClaims, parseKey(keyOf(step.claim)), (claim) => {
        claim.metadata.annotations = { ...claim.metadata.annotations, [SELECTED_NODE]: step.node };
      });
      afterSelect();
      return undefined;
    case "unselectNode":
      await mutate(store, PersistentVolumeClaims, parseKey(keyOf(step.claim)), (claim) => {
        delete claim.metadata.annotations?.[SELECTED_NODE];
      });
      return undefined;
    case "wait":
      return { requeueAfterMs: RETRY_MS };
    case "reject":
      await setUnscheduled(store, pod, "Unschedulable", step.message);
      events.event(pod, "Warning", "FailedScheduling", step.message);
      return { requeueAfterMs: RETRY_MS };
  }
}

async function setUnscheduled(store: ObjectStore, pod: Pod, reason: string, message: string): Promise<void> {
  const now = `${new Date().toISOString().slice(0, 19)}Z`;
  await mutate(
    store,
    Pods,
    parseKey(keyOf(pod)),
    (current) => {
      if (current.metadata.uid !== pod.metadata.uid || current.spec?.nodeName) return current;
      const condition = { type: "PodScheduled", status: "False", reason, message };
      const conditions = withCondition(current.status?.conditions ?? [], condition, now);
      return {
        ...current,
        status: { ...current.status, phase: current.status?.phase ?? "Pending", conditions },
      };
    },
    { subresource: "status" },
  );
}
