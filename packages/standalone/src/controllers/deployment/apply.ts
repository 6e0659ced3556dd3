import {
  type Deployment,
  Deployments,
  defined,
  type EventRecorder,
  isNotFound,
  type KubeObject,
  type ObjectStore,
  ownerReferenceTo,
  type ReplicaSet,
  ReplicaSets,
} from "@mooring/store";
import { labelsOf } from "../workloads/owners.ts";
import type { DeploymentStep } from "./decide.ts";
import { limitsOf, wantedOf } from "./limits.ts";
import { DESIRED, MAX } from "./proportions.ts";
import type { DeploymentCaches } from "./read.ts";
import { REVISION } from "./revisions.ts";
import { HASH, hashOfTemplate, setNameOf } from "./template.ts";

export interface DeploymentEffects extends DeploymentCaches {
  store: ObjectStore;
  events: EventRecorder;
}

/** Makes one visible change. */
export async function applyStep(
  step: DeploymentStep,
  deployment: Deployment,
  effects: DeploymentEffects,
): Promise<void> {
  const { store, deployments, sets } = effects;
  switch (step.do) {
    case "create-set": {
      const set = sets.wrote(await store.create(ReplicaSets, newSet(deployment, step)));
      return reportScale(effects, deployment, { set, from: 0, to: step.replicas });
    }
    case "scale-set":
      return scale(step, deployment, effects);
    case "adopt-set":
      sets.wrote(await store.update(ReplicaSets, adopted(step.set, deployment)));
      return;
    case "set-revision":
      sets.wrote(await store.update(ReplicaSets, annotated(step.set, { [REVISION]: String(step.revision) })));
      return;
    case "record-revision": {
      const revised = annotated(deployment, { [REVISION]: String(step.revision) });
      deployments.wrote(await store.update(Deployments, revised));
      return;
    }
    case "count-collision":
      return writeStatus(effects, deployment, {
        ...deployment.status,
        collisionCount: (deployment.status?.collisionCount ?? 0) + 1,
      });
    case "delete-set":
      return deleteSet(effects, step.set);
    case "write-status":
      return writeStatus(effects, deployment, step.status);
  }
}

async function writeStatus(
  { store, deployments }: DeploymentEffects,
  deployment: Deployment,
  status: NonNullable<Deployment["status"]>,
): Promise<void> {
  deployments.wrote(await store.updateStatus(Deployments, { ...deployment, status }));
}

async function scale(
  { set, replicas }: Extract<DeploymentStep, { do: "scale-set" }>,
  deployment: Deployment,
  effects: DeploymentEffects,
): Promise<void> {
  const { store, sets } = effects;
  const from = wantedOf(set);
  const sized = annotated(set, sizesOf(deployment));
  if (sized.spec !== undefined) sized.spec = { ...sized.spec, replicas };
  sets.wrote(await store.update(ReplicaSets, sized));
  reportScale(effects, deployment, { set, from, to: replicas });
}

function reportScale(
  { events }: DeploymentEffects,
  deployment: Deployment,
  { set, from, to }: { set: ReplicaSet; from: number; to: number },
): void {
  if (from === to) return;
  const way = to > from ? "up" : "down";
  const message = `Scaled ${way} replica set ${set.metadata.name} from ${from} to ${to}`;
  events.event(deployment, "Normal", "ScalingReplicaSet", message);
}

function newSet(
  deployment: Deployment,
  { replicas, revision }: { replicas: number; revision: number },
): ReplicaSet {
  const { metadata, spec } = deployment;
  const hash = hashOfTemplate(deployment);
  const labels = { ...labelsOf(spec?.template), [HASH]: hash };
  const selector = { ...spec?.selector, matchLabels: { ...spec?.selector.matchLabels, [HASH]: hash } };
  const template = { ...spec?.template, metadata: { ...spec?.template.metadata, labels } };
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      ...{ name: setNameOf(deployment), namespace: metadata.namespace ?? "", labels },
      annotations: { ...ownAnnotations(deployment), ...sizesOf(deployment), [REVISION]: String(revision) },
      ownerReferences: [ownerReferenceTo(deployment)],
    },
    spec: { replicas, selector, template, ...defined({ minReadySeconds: spec?.minReadySeconds }) },
  };
}

/** `kubectl rollout history` reads why there is a revision from the annotations of its set. */
function ownAnnotations({ metadata }: Deployment): Record<string, string> {
  const {
    [REVISION]: _,
    "kubectl.kubernetes.io/last-applied-configuration": __,
    ...rest
  } = metadata.annotations ?? {};
  return rest;
}

function sizesOf(deployment: Deployment): Record<string, string> {
  const { replicas, maxSurge } = limitsOf(deployment);
  return {
    [DESIRED]: String(replicas),
    [MAX]: String(replicas + maxSurge),
  };
}

function annotated<T extends KubeObject>(object: T, annotations: Record<string, string>): T {
  const metadata = { ...object.metadata, annotations: { ...object.metadata.annotations, ...annotations } };
  return { ...object, metadata };
}

function adopted(set: ReplicaSet, deployment: Deployment): ReplicaSet {
  const ownerReferences = [...(set.metadata.ownerReferences ?? []), ownerReferenceTo(deployment)];
  return { ...set, metadata: { ...set.metadata, ownerReferences } };
}

async function deleteSet({ store, sets }: DeploymentEffects, set: ReplicaSet): Promise<void> {
  const { name, namespace = "", uid = "" } = set.metadata;
  try {
    const preconditions = { uid };
    sets.deleted(
      await store.delete(
        ReplicaSets,
        { namespace, name },
        { preconditions, propagationPolicy: "Background" },
      ),
    );
  } catch (error) {
    if (!isNotFound(error)) throw error;
    sets.gone(set);
  }
}
