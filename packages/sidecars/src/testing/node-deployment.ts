import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import {
  CSINodes,
  LocalStore,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  StorageClasses,
  VolumeSnapshotClasses,
} from "@mooring/store";
import { endAtRest } from "@mooring/store/testing";
import type { NodeDeploymentOptions } from "../claim-ownership/index.ts";
import type { SidecarOptions } from "../options.ts";
import { startSidecars } from "../start.ts";
import { until } from "./harness.ts";
import { runMiniKube } from "./mini-kube.ts";
import { claim, csiNode, node, snapshotClass, storageClass } from "./objects.ts";
import { testRegistry } from "./registry.ts";
import { ScriptedDriver, type ScriptedDriverOptions } from "./scripted-driver.ts";

/** The nodes. */
export const NAMES = ["n1", "n2"] as const;
export type Name = (typeof NAMES)[number];

/** What a test does with them. */
export interface World {
  store: LocalStore;
  drivers: Record<Name, ScriptedDriver>;
  create(name: string, spec?: object, annotations?: Record<string, string>): Promise<void>;
  /** The node that the claim's volume is on, once it is bound. */
  placeOf(name: string): Promise<string>;
  /** Stops the control plane of a node, where it runs. */
  stop(name: Name): Promise<void>;
  /** Starts it, where it does not run. */
  start(name: Name): Promise<void>;
}

/** Milliseconds before a node takes a claim. */
export const DELAYS: NodeDeploymentOptions = { baseDelayMs: 20, maxDelayMs: 60 };

/** Two nodes, each with a driver and a control plane of its own, on one API server. */
export async function startWorld(
  t: TestContext,
  { driver = {}, sidecars = {} }: { driver?: ScriptedDriverOptions; sidecars?: Partial<SidecarOptions> } = {},
): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-nodes-"));
  const store = await LocalStore.open({ path: folder, registry: testRegistry() });
  const drivers = {} as World["drivers"];
  const running = new Map<Name, { stop: AbortController; done: Promise<void> }>();
  const kube = new AbortController();
  const binding = runMiniKube(store, kube.signal);
  const turns = new Map<Name, Promise<void>>();
  /** A node starts and stops one after the other. */
  const inTurn = (name: Name, work: () => Promise<void>): Promise<void> => {
    const done = (turns.get(name) ?? Promise.resolve()).then(work);
    turns.set(name, done);
    return done;
  };
  const stopNow = async (name: Name) => {
    running.get(name)?.stop.abort();
    await running.get(name)?.done;
    running.delete(name);
  };
  const startNow = async (name: Name) => {
    if (running.has(name)) return;
    const stopOne = new AbortController();
    const started = await startSidecars({
      ...{ store, endpoint: drivers[name].endpoint, nodeName: name, nodeDeployment: DELAYS },
      ...{ retry: { startMs: 5, maxMs: 40, infeasibleMs: 60 }, timeoutMs: 30_000 },
      leaderElection: { retryMs: 20, durationMs: 2_000, renewDeadlineMs: 1_000 },
      ...sidecars,
      signal: stopOne.signal,
    });
    running.set(name, { stop: stopOne, done: started.done });
  };
  const stop = (name: Name) => inTurn(name, () => stopNow(name));
  const start = (name: Name) => inTurn(name, () => startNow(name));
  const end = async () => {
    await Promise.all(NAMES.map(stop));
    kube.abort();
    await binding;
    await Promise.all(Object.values(drivers).map((each) => each.stop()));
    await store.close();
    await rm(folder, { recursive: true, force: true });
  };
  // Whatever the test has done, nothing that is due sleeps through its event.
  t.after(() => endAtRest(end));
  await store.create(StorageClasses, storageClass());
  await store.create(
    StorageClasses,
    storageClass({ metadata: { name: "late" }, volumeBindingMode: "WaitForFirstConsumer" }),
  );
  await store.create(VolumeSnapshotClasses, snapshotClass());
  for (const [index, name] of NAMES.entries()) {
    await store.create(Nodes, node(name, { host: name }));
    await store.create(CSINodes, csiNode(name, ["host"]));
    drivers[name] = await ScriptedDriver.start({
      ...{ topology: true, segments: { host: name }, nodeId: name, firstId: 1 + index * 1_000 },
      ...driver,
    });
    await start(name);
  }
  return {
    ...{ store, drivers, stop, start },
    async create(name, spec = {}, annotations = {}) {
      const metadata = { name, namespace: "default", annotations };
      await store.create(PersistentVolumeClaims, { ...claim(name, spec), metadata });
    },
    placeOf: (name) =>
      until(
        `${name} is bound`,
        async () => {
          const { spec, status } = await store.get(PersistentVolumeClaims, { name, namespace: "default" });
          if (status?.phase !== "Bound") return undefined;
          const volume = await store.get(PersistentVolumes, { name: spec?.volumeName ?? "" });
          const [term] = volume.spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
          return term?.matchExpressions?.map(({ values }) => values?.join()).join();
        },
        async () => (await store.list(PersistentVolumeClaims)).items,
      ),
  };
}
