import { setMaxListeners } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Deployment,
  isNotFound,
  type KubeObject,
  LocalStore,
  Namespaces,
  type Pod,
  Pods,
  type PodTemplate,
  type Resource,
  ResourceRegistry,
  type StatefulSet,
  StorageClasses,
  silentLogger,
} from "@mooring/store";
import { eventually, nothingSleeps } from "@mooring/store/testing";
import { registerBuiltins } from "../../../builtin/index.ts";
import { createKindRegistry } from "../../../kinds/kind-info.ts";
import { openClusterView } from "../../cluster-view.ts";
import { startDeployments } from "../../deployment/index.ts";
import { startGarbageCollector } from "../../garbage-collector/index.ts";
import { startReplicaSets } from "../../replica-set/index.ts";
import { startStatefulSets } from "../../stateful-set/index.ts";
import { openWorkloadsView } from "../view.ts";
import { playKubelet } from "./play-kubelet.ts";

export const NAMESPACE = "default";
export const at = (name: string) => ({ namespace: NAMESPACE, name });

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
  /** Pods with this label `app`, in the order of their names. */
  pods(app: string): Promise<Pod[]>;
  /** Ends the controllers and begins them anew. */
  restart(): Promise<void>;
  /** Resolves when nothing is left to do. */
  rest(): Promise<void>;
  stop(): Promise<void>;
}

/** With `folder`, of an earlier life. */
export async function openWorkloadsWorld(folder?: string): Promise<WorkloadsWorld> {
  const path = folder ?? (await mkdtemp(join(tmpdir(), "mooring-workloads-")));
  const registry = new ResourceRegistry();
  const kinds = createKindRegistry();
  registerBuiltins(registry, kinds);
  const store = await LocalStore.open({ path, registry });
  await store
    .create(Namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } })
    .catch(() => {});
  const growing = {
    ...{ apiVersion: "storage.k8s.io/v1", kind: "StorageClass", metadata: { name: "grows" } },
    ...{ provisioner: "none", allowVolumeExpansion: true },
  } as const;
  await store.create(StorageClasses, growing).catch(() => {});
  let life = await begin(store, kinds);
  const find: WorkloadsWorld["find"] = async (resource, name) => {
    try {
      return await store.get(resource, at(name));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  };
  const rest = () => nothingSleeps({ idle: true, store });
  return {
    ...{ store, find, rest },
    async becomes<T extends KubeObject>(resource: Resource<T>, name: string, test: (object: T) => boolean) {
      let found: T | undefined;
      await eventually(`${resource.kind} ${name}: ${test}`, async () => {
        found = await find(resource, name);
        return found !== undefined && test(found);
      });
      return found as T;
    },
    async pods(app) {
      const { items } = await store.list(Pods, { namespace: NAMESPACE, labelSelector: `app=${app}` });
      return items.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    },
    async restart() {
      await life.end();
      life = await begin(store, kinds);
    },
    async stop() {
      try {
        await rest();
      } finally {
        await life.end();
        await store.close();
        if (folder === undefined) await rm(path, { recursive: true, force: true });
      }
    },
  };
}

async function begin(store: LocalStore, kinds: ReturnType<typeof createKindRegistry>) {
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
