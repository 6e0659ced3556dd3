import {
  type ControllerRevision,
  ControllerRevisions,
  type EventRecorder,
  isNotFound,
  type KubeObject,
  keyOf,
  type ObjectStore,
  ownerReferenceTo,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  type Pod,
  Pods,
  type StatefulSet,
  StatefulSets,
  StatusError,
} from "@mooring/store";
import { deletePod } from "../workloads/delete-pod.ts";
import { owned } from "./claims.ts";
import type { StatefulSetStep } from "./decide.ts";
import type { StatefulSetCaches } from "./read.ts";
import { newRevision } from "./revisions.ts";

export interface StatefulSetEffects extends StatefulSetCaches {
  store: ObjectStore;
  events: EventRecorder;
}

/** Makes one visible change. */
export async function applyStep(
  step: StatefulSetStep,
  set: StatefulSet,
  effects: StatefulSetEffects,
): Promise<void> {
  const { store, sets, pods, revisions } = effects;
  switch (step.do) {
    case "create-revision": {
      const known = revisions.byIndex("controller", set.metadata.uid ?? "");
      revisions.wrote(await store.create(ControllerRevisions, newRevision(set, known)));
      return;
    }
    case "adopt-revision":
      revisions.wrote(await store.update(ControllerRevisions, adopted(step.revision, set)));
      return;
    case "raise-revision": {
      const raised = { ...step.revision, revision: step.number };
      revisions.wrote(await store.update(ControllerRevisions, raised));
      return;
    }
    case "delete-revision":
      return deleteRevision(step.revision, effects);
    case "count-collision": {
      const status = { ...set.status, replicas: set.status?.replicas ?? 0 };
      const counted = { ...status, collisionCount: (status.collisionCount ?? 0) + 1 };
      sets.wrote(await store.updateStatus(StatefulSets, { ...set, status: counted }));
      return;
    }
    case "adopt-pod":
      pods.wrote(await store.update(Pods, adopted(step.pod, set)));
      return;
    case "create-pod":
      return createPod(step.pod, set, effects);
    case "delete-pod":
      return removePod(step, set, effects);
    case "write-status":
      sets.wrote(await store.updateStatus(StatefulSets, { ...set, status: step.status }));
      return;
    default:
      return applyToClaim(step, set, effects);
  }
}

function adopted<T extends KubeObject>(object: T, set: StatefulSet): T {
  const ownerReferences = [...(object.metadata.ownerReferences ?? []), ownerReferenceTo(set)];
  return { ...object, metadata: { ...object.metadata, ownerReferences } };
}

async function applyToClaim(
  step: Extract<StatefulSetStep, { do: "create-claim" | "size-claim" | "set-claim-owners" }>,
  set: StatefulSet,
  effects: StatefulSetEffects,
): Promise<void> {
  const { store, claims } = effects;
  switch (step.do) {
    case "create-claim":
      claims.wrote(await reported(set, effects, () => store.create(PersistentVolumeClaims, step.claim)));
      return;
    case "size-claim": {
      const sized = withStorage(step.claim, step.storage);
      claims.wrote(await reported(set, effects, () => store.update(PersistentVolumeClaims, sized)));
      return;
    }
    case "set-claim-owners":
      claims.wrote(await store.update(PersistentVolumeClaims, owned(step.claim, step.owners)));
  }
}

function withStorage(claim: PersistentVolumeClaim, storage: string): PersistentVolumeClaim {
  const resources = claim.spec?.resources;
  return {
    ...claim,
    spec: { ...claim.spec, resources: { ...resources, requests: { ...resources?.requests, storage } } },
  };
}

/** A refusal is reported as an event of the set, and remembered until something is accepted. */
async function reported<T>(
  set: StatefulSet,
  { events, refused }: StatefulSetEffects,
  work: () => Promise<T>,
): Promise<T> {
  const { name, uid = "" } = set.metadata;
  try {
    const accepted = await work();
    refused.delete(keyOf(set));
    return accepted;
  } catch (error) {
    if (error instanceof StatusError && !["AlreadyExists", "Conflict"].includes(error.reason)) {
      refused.set(keyOf(set), uid);
      events.event(set, "Warning", "FailedCreate", `${name} failed: ${error.message}`);
    }
    throw error;
  }
}

async function createPod(pod: Pod, set: StatefulSet, effects: StatefulSetEffects): Promise<void> {
  const { store, events, pods } = effects;
  pods.wrote(await reported(set, effects, () => store.create(Pods, pod)));
  const message = `create Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name} successful`;
  events.event(set, "Normal", "SuccessfulCreate", message);
}

async function removePod(
  { pod, why }: Extract<StatefulSetStep, { do: "delete-pod" }>,
  set: StatefulSet,
  { store, events, pods }: StatefulSetEffects,
): Promise<void> {
  if (!(await deletePod(store, pods, pod))) return;
  const message = `delete Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name} successful: ${why}`;
  events.event(set, "Normal", "SuccessfulDelete", message);
}

async function deleteRevision(
  revision: ControllerRevision,
  { store, revisions }: StatefulSetEffects,
): Promise<void> {
  const { name, namespace = "", uid = "" } = revision.metadata;
  try {
    const preconditions = { uid };
    revisions.deleted(await store.delete(ControllerRevisions, { namespace, name }, { preconditions }));
  } catch (error) {
    if (!isNotFound(error)) throw error;
    revisions.gone(revision);
  }
}
