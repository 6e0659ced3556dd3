import {
  type EventRecorder,
  failpoint,
  keyOf,
  mutate,
  type ObjectStore,
  type PersistentVolume,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Pod,
  Pods,
  parseKey,
  type WrittenCache,
} from "@mooring/store";
import { SELECTED_NODE } from "../binder/names.ts";
import { reserved } from "../binder/reserve.ts";
import { withCondition } from "../pod-conditions.ts";
import type { PodStep } from "./decide.ts";
import type { SchedulerMemory } from "./memory.ts";

const volumeReserved = failpoint("standalone/scheduler/volume-reserved");

interface SchedulerEffects {
  store: ObjectStore;
  events: EventRecorder;
  memory: SchedulerMemory;
  pods: WrittenCache<Pod>;
  claims: WrittenCache<PersistentVolumeClaim>;
  volumes: WrittenCache<PersistentVolume>;
}

/** Makes one visible change for a pod that has no node yet. */
export async function applyStep(step: PodStep, pod: Pod, effects: SchedulerEffects): Promise<void> {
  const { events, memory, store, volumes } = effects;
  switch (step.do) {
    case "bind":
      await bind(effects, pod, step.node);
      events.event(pod, "Normal", "Scheduled", `Successfully assigned ${keyOf(pod)} to ${step.node}`);
      return;
    case "select-node":
      // The reservation first: it is what fixes the choice of this volume.
      if (step.volume !== undefined) {
        volumes.wrote(await store.update(PersistentVolumes, reserved(step.volume, step.claim)));
        volumeReserved();
      }
      return annotate(effects, step.claim, step.node);
    case "unselect-node":
      return annotate(effects, step.claim, undefined);
    case "report-unschedulable":
      await setUnscheduled(effects, pod, step.reason, step.message);
      if (step.reason === "SchedulingGated" || memory.isReported(pod, step.message)) return;
      events.event(pod, "Warning", "FailedScheduling", step.message);
      memory.reported(pod, step.message);
  }
}

async function bind({ memory, pods, store }: SchedulerEffects, pod: Pod, nodeName: string): Promise<void> {
  const uid = pod.metadata.uid ?? "";
  memory.assumed.set(uid, nodeName);
  try {
    const spec = { ...pod.spec, containers: pod.spec?.containers ?? [], nodeName };
    pods.wrote(await store.update(Pods, { ...pod, spec }));
  } catch (error) {
    memory.assumed.delete(uid);
    throw error;
  }
}

async function annotate(
  { claims, store }: SchedulerEffects,
  claim: PersistentVolumeClaim,
  node: string | undefined,
): Promise<void> {
  const change = ({ metadata }: PersistentVolumeClaim) => {
    if (node === undefined) delete metadata.annotations?.[SELECTED_NODE];
    else metadata.annotations = { ...metadata.annotations, [SELECTED_NODE]: node };
  };
  claims.wrote(await mutate(store, PersistentVolumeClaims, parseKey(keyOf(claim)), change));
}

async function setUnscheduled(
  { pods, store }: SchedulerEffects,
  pod: Pod,
  reason: string,
  message: string,
): Promise<void> {
  const now = `${new Date().toISOString().slice(0, 19)}Z`;
  const written = await mutate(store, Pods, parseKey(keyOf(pod)), {
    change: (current) => {
      if (current.metadata.uid !== pod.metadata.uid || current.spec?.nodeName) return current;
      const condition = { type: "PodScheduled", status: "False", reason, message };
      const conditions = withCondition(current.status?.conditions ?? [], condition, now);
      return {
        ...current,
        status: { ...current.status, phase: current.status?.phase ?? "Pending", conditions },
      };
    },
    subresource: "status",
  });
  pods.wrote(written);
}
