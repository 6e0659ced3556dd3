import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { startSidecars } from "@mooring/sidecars";
import {
  type CSIDriver,
  defined,
  type KubeObject,
  LocalStore,
  type Logger,
  Namespaces,
  type ObjectStore,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  type Pod,
  Pods,
  type Resource,
  ResourceRegistry,
  StorageClasses,
  silentLogger,
} from "@mooring/store";
import { eventuallyObject, nothingSleeps, eventually as poll } from "@mooring/store/testing";
import { registerBuiltins } from "../../builtin/index.ts";
import { startAttachDetach } from "../../controllers/attach-detach/index.ts";
import { startBinder } from "../../controllers/binder/index.ts";
import { type ClusterView, openClusterView } from "../../controllers/cluster-view.ts";
import { startProtection } from "../../controllers/protection/index.ts";
import { startScheduler } from "../../controllers/scheduler/index.ts";
import { createKindRegistry, type MutableKindRegistry } from "../../kinds/kind-info.ts";
import { createProcessRuntime } from "../../runtime/index.ts";
import { startDriverHost } from "../../storage/driver-host.ts";
import { type Kubelet, type KubeletOptions, startKubelet } from "../start.ts";
import { type DirectoryDriver, startDirectoryDriver, TEST_DRIVER } from "./directory-driver.ts";

export const NODE = "node-1";

/** A machine's control plane and kubelet around a test driver, in this process. */
export interface TestCluster {
  readonly folder: string;
  readonly store: LocalStore;
  readonly registry: ResourceRegistry;
  readonly kinds: MutableKindRegistry;
  readonly view: ClusterView;
  readonly driver: DirectoryDriver;
  readonly kubelet: Kubelet;
  stopKubelet(): Promise<void>;
  startKubelet(): Promise<void>;
  /** Stops everything; the folder stays. */
  stop(): Promise<void>;
}

export interface TestClusterOptions extends Pick<KubeletOptions, "issueToken" | "republishMs"> {
  /** What the driver's CSIDriver object has. */
  csiDriver?: Partial<CSIDriver["spec"]>;
  /** Whether the driver stages volumes. */
  stages?: boolean;
  /** Whether other drivers may register themselves. */
  registers?: boolean;
}

/** With `folder`, of an earlier cluster that was stopped or killed. */
export async function startTestCluster(
  folder: string,
  logger: Logger = silentLogger,
  { csiDriver = {}, stages = true, registers = false, ...more }: TestClusterOptions = {},
): Promise<TestCluster> {
  const registry = new ResourceRegistry();
  const kinds = createKindRegistry();
  registerBuiltins(registry, kinds);
  const store = await LocalStore.open({ path: join(folder, "store"), registry });
  const control = new AbortController();
  const { signal } = control;
  for (const name of ["default", "kube-system", "kube-node-lease"]) {
    await store
      .create(Namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name } })
      .catch(() => {});
  }
  await store
    .create(StorageClasses, {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name: "dir", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
      provisioner: TEST_DRIVER,
      reclaimPolicy: "Delete",
      allowVolumeExpansion: true,
      volumeBindingMode: "Immediate",
    })
    .catch(() => {});
  const driver = await startDirectoryDriver(join(folder, "driver"), NODE, { stages });
  const view = await openClusterView(store, { logger, signal });
  const shared = { store, view, logger, signal };
  const parts = await Promise.all([
    startBinder(shared),
    startScheduler(shared),
    startAttachDetach({ ...shared, hasAttacher: (name) => name === TEST_DRIVER }),
    startProtection(shared),
  ]);
  const sidecars = await startSidecars({
    ...{ store, endpoint: driver.endpoint, nodeName: NODE, logger, signal },
    nodeRegistration: { csiDriver },
  });

  const driverHost = startDriverHost({ store, nodeName: NODE, logger, signal });

  let kubeletStop = new AbortController();
  async function beginKubelet(): Promise<Kubelet> {
    kubeletStop = new AbortController();
    const stateDir = join(folder, "kubelet");
    return startKubelet({
      store,
      view,
      nodeName: NODE,
      stateDir,
      csiEndpoints: { [TEST_DRIVER]: driver.endpoint },
      runtime: await createProcessRuntime({ stateDir, logger }),
      measureMs: 200,
      ...(registers ? { driverHost } : {}),
      ...more,
      logger,
      signal: kubeletStop.signal,
    });
  }
  const cluster = {
    ...{ folder, store, registry, kinds, view },
    driver,
    kubelet: await beginKubelet(),
    async stopKubelet() {
      kubeletStop.abort();
      await cluster.kubelet.done;
    },
    async startKubelet() {
      cluster.kubelet = await beginKubelet();
    },
    async stop() {
      try {
        await nothingSleeps();
      } finally {
        await cluster.stopKubelet();
        control.abort();
        await Promise.all([view.done, sidecars.done, driverHost.done, ...parts.map(({ done }) => done)]);
        await driver.stop();
        await store.close();
      }
    },
  };
  return cluster;
}

/** Throws when a mount or a control group of the folder is still there. */
export async function assertNothingLeft(folder: string): Promise<void> {
  const mounts = (await readFile("/proc/self/mountinfo", "utf8"))
    .split("\n")
    .filter((line) => line.includes(folder));
  if (mounts.length > 0) throw new Error(`mounts are left:\n${mounts.join("\n")}`);
  const devices = await readdir(join(folder, "kubelet/plugins/kubernetes.io/csi"), { recursive: true }).catch(
    () => [],
  );
  const records = devices.filter((path) => path.endsWith("vol_data.json"));
  if (records.length > 0) throw new Error(`volume records are left: ${records.join(", ")}`);
}

type Predicate<T> = (object: T | undefined) => boolean;

/** {@link eventuallyObject} of the namespace `default`, for at most two minutes or as many seconds as are given. */
export function eventually<T extends KubeObject>(
  store: ObjectStore,
  resource: Resource<T>,
  name: string,
  wanted: Predicate<T> | { until: Predicate<T>; seconds: number },
): Promise<T | undefined> {
  const { until, seconds } = typeof wanted === "function" ? { until: wanted, seconds: 120 } : wanted;
  const key = { ...defined({ namespace: resource.namespaced ? "default" : undefined }), name };
  return eventuallyObject(store, { resource, key }, until, seconds * 1000);
}

export function claim(name: string, spec: PersistentVolumeClaim["spec"] = {}): PersistentVolumeClaim {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, namespace: "default" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
  };
}

export function pod(name: string, script: string, spec: Partial<NonNullable<Pod["spec"]>> = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: {
      terminationGracePeriodSeconds: 2,
      restartPolicy: "Never",
      containers: [{ name: "main", image: "host", command: ["sh", "-c", script] }],
      ...spec,
    },
  };
}

/** The pod with a claim mounted at /data. */
export function podWithClaim(
  name: string,
  claimName: string,
  script: string,
  spec: Partial<NonNullable<Pod["spec"]>> = {},
): Pod {
  const base = pod(name, script, spec);
  return {
    ...base,
    spec: {
      ...base.spec,
      volumes: [{ name: "data", persistentVolumeClaim: { claimName } }],
      containers: (base.spec?.containers ?? []).map((each) => ({
        ...each,
        volumeMounts: [{ name: "data", mountPath: "/data" }, ...(each.volumeMounts ?? [])],
      })),
    },
  };
}

export function phase(wanted: string): (pod: Pod | undefined) => boolean {
  return (object) => object?.status?.phase === wanted;
}

export async function logOf(
  cluster: TestCluster,
  name: string,
  options: { container?: string; previous?: boolean } = {},
): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of cluster.kubelet.logs({ namespace: "default", pod: name, ...options }))
    parts.push(part);
  return Buffer.concat(parts).toString();
}

/** Waits until the log matches: a container that runs has not yet written what it will. */
export async function logShows(cluster: TestCluster, name: string, wanted: RegExp): Promise<void> {
  const log = () => logOf(cluster, name);
  await poll(`the log of ${name} to match ${wanted}`, async () => wanted.test(await log()), {
    // There is none before it has begun.
    mayThrow: true,
    lastSeen: log,
  });
}

export { PersistentVolumeClaims, Pods };
