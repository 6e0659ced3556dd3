import {
  type EventRecorder,
  keyOf,
  type ObjectStore,
  ownerReferenceTo,
  type Pod,
  Pods,
  type ReplicaSet,
  ReplicaSets,
  StatusError,
} from "@mooring/store";
import { deletePod } from "../workloads/delete-pod.ts";
import { withoutController } from "../workloads/owners.ts";
import { podFrom } from "../workloads/pods.ts";
import type { ReplicaSetStep } from "./decide.ts";
import type { ReplicaSetCaches } from "./read.ts";

export interface ReplicaSetEffects extends ReplicaSetCaches {
  store: ObjectStore;
  events: EventRecorder;
}

/** Makes one visible change. */
export async function applyStep(
  step: ReplicaSetStep,
  set: ReplicaSet,
  effects: ReplicaSetEffects,
): Promise<void> {
  const { store, sets, pods } = effects;
  switch (step.do) {
    case "release-pod":
      pods.wrote(await store.update(Pods, { ...step.pod, metadata: withoutController(step.pod) }));
      return;
    case "adopt-pod":
      pods.wrote(await store.update(Pods, adopted(step.pod, set)));
      return;
    case "create-pod":
      return createPod(set, effects);
    case "delete-pod":
      return deleteSurplus(step.pod, set, effects);
    case "write-status":
      sets.wrote(await store.updateStatus(ReplicaSets, { ...set, status: step.status }));
  }
}

function adopted(pod: Pod, set: ReplicaSet): Pod {
  const ownerReferences = [...(pod.metadata.ownerReferences ?? []), ownerReferenceTo(set)];
  return { ...pod, metadata: { ...pod.metadata, ownerReferences } };
}

async function createPod(
  set: ReplicaSet,
  { store, events, pods, failures }: ReplicaSetEffects,
): Promise<void> {
  const key = keyOf(set);
  const generateName = `${set.metadata.name}-`;
  try {
    const pod = pods.wrote(await store.create(Pods, podFrom(set, set.spec?.template, { generateName })));
    failures.delete(key);
    events.event(set, "Normal", "SuccessfulCreate", `Created pod: ${pod.metadata.name}`);
  } catch (error) {
    if (error instanceof StatusError && error.reason !== "AlreadyExists") {
      failures.set(key, { uid: set.metadata.uid, message: error.message });
      events.event(set, "Warning", "FailedCreate", `Error creating: ${error.message}`);
    }
    throw error;
  }
}

async function deleteSurplus(
  pod: Pod,
  set: ReplicaSet,
  { store, events, pods }: ReplicaSetEffects,
): Promise<void> {
  if (!(await deletePod(store, pods, pod))) return;
  events.event(set, "Normal", "SuccessfulDelete", `Deleted pod: ${pod.metadata.name}`);
}
