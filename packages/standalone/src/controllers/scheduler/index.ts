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

/** What the caches and the objects do not say (yet), by pod uid. */
interface Memory {
  /** The node of pods that were bound a moment ago. */
  assumed: Map<string, string>;
  /** The last event about each pod that cannot be placed. */
  told: Map<string, { message: string; at: number }>;
}

function forget({ assumed, told }: Memory, { metadata }: Pod): void {
  assumed.delete(metadata.uid ?? "");
  told.delete(metadata.uid ?? "");
}

function isNews({ told }: Memory, { metadata }: Pod, message: string): boolean {
  const last = told.get(metadata.uid ?? "");
  const now = Date.now();
  if (last?.message === message && now - last.at < RETRY_MS) return false;
  told.set(metadata.uid ?? "", { message, at: now });
  return true;
}

/** Gives each pod a node that can run it and reach its volumes. */
export async function startScheduler(options: SchedulerOptions): Promise<{ done: Promise<void> }> {
  const { store, view, logger, signal } = options;
  const events = new EventRecorder(store, { component: SCHEDULER, logger });
  const memory: Memory = { assumed: new Map(), told: new Map() };
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
          if (!isWaiting(pod)) forget(memory, pod);
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
      reconcile: (key) => schedule(options, events, memory, key),
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
  return view.pods.byIndex("unplaced", "yes").filter(isWaiting);
}

async function schedule(
  options: SchedulerOptions,
  events: EventRecorder,
  memory: Memory,
  key: string,
): Promise<{ requeueAfterMs: number } | undefined> {
  const { store, view, signal } = options;
  const pod = view.pods.get(key);
  if (pod === undefined || !isWaiting(pod) || memory.assumed.has(pod.metadata.uid ?? "")) return undefined;
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
  const step = decide(schedulingView(view, pod, memory.assumed));
  try {
    return await apply(options, events, memory, pod, step);
  } catch (error) {
    memory.assumed.delete(pod.metadata.uid ?? "");
    signal.throwIfAborted();
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function apply(
  { store }: SchedulerOptions,
  events: EventRecorder,
  memory: Memory,
  pod: Pod,
  step: SchedulingStep,
): Promise<{ requeueAfterMs: number } | undefined> {
  switch (step.do) {
    case "bind": {
      memory.assumed.set(pod.metadata.uid ?? "", step.node);
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
      // The condition says it all the time; an event only when it is news, or after a while.
      if (isNews(memory, pod, step.message)) events.event(pod, "Warning", "FailedScheduling", step.message);
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
