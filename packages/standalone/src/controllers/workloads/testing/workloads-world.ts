import { setMaxListeners } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Deployment,
  getIfAny,
  isAlreadyExists,
  type KubeObject,
  type LocalStore,
  managedBy,
  mutate,
  type ObjectStore,
  type Pod,
  Pods,
  type PodTemplate,
  type Resource,
  type StatefulSet,
  StorageClasses,
  silentLogger,
} from "@mooring/store";
import { eventually, nothingSleeps } from "@mooring/store/testing";
import type { KindRegistry } from "../../../kinds/kind-info.ts";
import { openClusterView } from "../../cluster-view.ts";
import { CONTROLLER_MANAGER } from "../../controller-manager.ts";
import { startDeployments } from "../../deployment/index.ts";
import { startGarbageCollector } from "../../garbage-collector/index.ts";
import { startReplicaSets } from "../../replica-set/index.ts";
import { startStatefulSets } from "../../stateful-set/index.ts";
import { openControllerStore } from "../../testing/story-life.ts";
import { openWorkloadsView } from "../view.ts";
import { playKubelet } from "./play-kubelet.ts";

export const NAMESPACE = "default";
export const at = (name: string) => ({ namespace: NAMESPACE, name });

type Workload = Deployment | StatefulSet;

/** The controllers of workloads over a store of their own, and a kubelet that is played. */
export interface WorkloadsWorld {
  readonly store: LocalStore;
  /** The object, or undefined when it is gone. */
  find<T extends KubeObject>(resource: Resource<T>, name: string): Promise<T | undefined>;
  /** Waits for what the object becomes. */
  becomes<T extends KubeObject>(
    resource: Resource<T>,
    name: string,
    test: (object: T) => boolean,
  ): Promise<T>;
  /** Sets fields of the spec. */
  change<T extends Workload>(
    resource: Resource<T>,
    name: string,
    spec: Partial<NonNullable<T["spec"]>>,
  ): Promise<void>;
  /** Waits until all pods are of the template and available, as `kubectl rollout status` does. */
  rolledOut<T extends Workload>(resource: Resource<T>, name: string): Promise<T>;
  /** Pods with this label `app`, in the order of their names. */
  pods(app: string): Promise<Pod[]>;
  /** Ends the controllers and begins them anew. */
  restart(): Promise<void>;
  /** Resolves when nothing is left to do. */
  rest(): Promise<void>;
  /** At rest, ends the controllers. */
  stop(): Promise<void>;
}

/** In a new folder, which `stop` removes. */
export async function openWorkloadsWorld(): Promise<WorkloadsWorld> {
  const path = await mkdtemp(join(tmpdir(), "mooring-workloads-"));
  const { store, kinds } = await openControllerStore(path);
  const world = await workloadsWorldOver({ store, kinds });
  return {
    ...world,
    async stop() {
      try {
        await world.stop();
      } finally {
        await store.close();
        await rm(path, { recursive: true, force: true });
      }
    },
  };
}

interface Over {
  store: LocalStore;
  kinds: KindRegistry;
}

/** Over a store that the test that has opened it closes after `stop`. */
export async function workloadsWorldOver({ store, kinds }: Over): Promise<WorkloadsWorld> {
  await ensureGrowingClass(store);
  // What the controllers write is theirs, as in `mooring up`.
  const managed = managedBy(store, CONTROLLER_MANAGER);
  let life = await begin(managed, kinds);
  const rest = () => nothingSleeps({ idle: true, store: managed });
  const becomes: WorkloadsWorld["becomes"] = (resource, name, test) =>
    eventually(`${resource.kind} ${name}: ${test}`, async () => {
      const found = await getIfAny(store, resource, at(name));
      return found !== undefined && test(found) ? found : undefined;
    });
  return {
    ...{ store, becomes, rest },
    find: (resource, name) => getIfAny(store, resource, at(name)),
    async change(resource, name, spec) {
      await mutate(store, resource, at(name), (found) => ({ ...found, spec: { ...found.spec, ...spec } }));
    },
    rolledOut: (resource, name) => becomes(resource, name, isRolledOut),
    async pods(app) {
      const { items } = await store.list(Pods, { namespace: NAMESPACE, labelSelector: `app=${app}` });
      return items.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    },
    async restart() {
      await life.end();
      life = await begin(managed, kinds);
    },
    async stop() {
      try {
        await rest();
      } finally {
        await life.end();
      }
    },
  };
}

function isRolledOut({ metadata, spec, status }: Workload): boolean {
  const wanted = spec?.replicas ?? 1;
  const { observedGeneration = 0, updatedReplicas, replicas, availableReplicas } = status ?? {};
  const { currentRevision, updateRevision } = (status ?? {}) as NonNullable<StatefulSet["status"]>;
  return (
    observedGeneration >= (metadata.generation ?? 0) &&
    [updatedReplicas, replicas, availableReplicas].every((count) => count === wanted) &&
    currentRevision === updateRevision
  );
}

async function ensureGrowingClass(store: LocalStore): Promise<void> {
  const growing = {
    ...{ apiVersion: "storage.k8s.io/v1", kind: "StorageClass", metadata: { name: "grows" } },
    ...{ provisioner: "none", allowVolumeExpansion: true },
  } as const;
  await store.create(StorageClasses, growing).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}

async function begin(store: ObjectStore, kinds: KindRegistry) {
  const stopping = new AbortController();
  const { signal } = stopping;
  setMaxListeners(0, signal);
  const common = { store, logger: silentLogger, signal };
  const view = await openClusterView(store, common);
  const workloads = await openWorkloadsView(store, common);
  const options = { ...common, view, workloads };
  const parts = [
    await startGarbageCollector({ ...common, kinds }),
    startReplicaSets(options),
    startDeployments(options),
    startStatefulSets(options),
  ];
  playKubelet(store, view, signal);
  const end = async () => {
    stopping.abort();
    await Promise.all([view.done, workloads.done, ...parts.map(({ done }) => done)]);
  };
  return { end };
}

/** A template of pods with the label; `image` tells one from another. */
export function template(app: string, image = "one"): PodTemplate {
  return {
    metadata: { labels: { app } },
    spec: { terminationGracePeriodSeconds: 1, containers: [{ name: "c", image }] },
  };
}

export function deployment(name: string, spec: Partial<NonNullable<Deployment["spec"]>> = {}): Deployment {
  const selector = { matchLabels: { app: name } };
  return {
    ...{ apiVersion: "apps/v1", kind: "Deployment", metadata: at(name) },
    spec: { replicas: 3, selector, template: template(name), ...spec },
  };
}

export function statefulSet(name: string, spec: Partial<NonNullable<StatefulSet["spec"]>> = {}): StatefulSet {
  const selector = { matchLabels: { app: name } };
  const resources = { requests: { storage: "1Gi" } };
  const claim = { accessModes: ["ReadWriteOnce"], storageClassName: "grows", resources };
  return {
    ...{ apiVersion: "apps/v1", kind: "StatefulSet", metadata: at(name) },
    spec: {
      ...{ replicas: 3, serviceName: name, selector, template: template(name) },
      volumeClaimTemplates: [{ metadata: { name: "data" }, spec: claim }],
      ...spec,
    },
  };
}
