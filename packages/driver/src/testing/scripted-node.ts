import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CsiClient, connect, createServer } from "@mooring/csi";
import {
  createHost,
  ENGINE_FINALIZER,
  ENGINE_KINDS,
  MOORING_API_VERSION,
  NodeAgents,
  Pools,
  type Snapshot,
  Snapshots,
  startArbiter,
  type Volume,
  Volumes,
} from "@mooring/engine";
import {
  createInformer,
  isNotFound,
  LocalStore,
  ResourceRegistry,
  removeFinalizer,
  type StatusError,
  silentLogger,
  source,
} from "@mooring/store";
import { actOn, endAtRest, refusingStore } from "@mooring/store/testing";
import { createDriver } from "../driver.ts";

const GIB = 1024 ** 3;

/** What the node agents of a scripted cluster do with a volume or snapshot, by its name; default: what it asks for. */
export interface Script {
  /** Stand in `status.error` instead of being made. */
  errors: Map<string, { code: string; message: string }>;
  /** Nothing happens to these. */
  ignored: Set<string>;
  /** The store returns nothing but this to the driver. */
  failure: StatusError | undefined;
}

export interface Cluster {
  client: CsiClient;
  store: LocalStore;
  script: Script;
  /** Reads everything again, after the script has changed. */
  wake(): Promise<void>;
  end(): Promise<void>;
}

/** The controller service over a store whose nodes are played by a script: for what one machine cannot show. */
export async function startCluster(nodes: readonly string[]): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-cluster-"));
  const registry = new ResourceRegistry(ENGINE_KINDS.map((resource) => ({ resource, hasStatus: true })));
  const store = await LocalStore.open({ path: join(folder, "store"), registry });
  const stop = new AbortController();
  for (const name of nodes) await addNode(store, name);
  const script: Script = { errors: new Map(), ignored: new Set(), failure: undefined };
  const arbiter = await startArbiter({ store, logger: silentLogger, signal: stop.signal });
  const playing = play(store, script, stop.signal);
  const endpoint = `unix://${join(folder, "csi.sock")}`;
  const host = createHost();
  const services = createDriver({
    store: refusingStore(store, () => script.failure),
    host,
    nodeID: "",
    mode: "controller",
    stateDir: folder,
    logger: silentLogger,
  });
  const server = createServer(services, { endpoint, strictResponses: true });
  await server.start();
  const client = await connect(endpoint, { timeoutMs: 60_000 });
  const touch = async (object: Volume | Snapshot) => {
    const resource = object.kind === "Volume" ? Volumes : Snapshots;
    const body = { metadata: { annotations: { touched: String(Math.random()) } } };
    await store.patch<Volume | Snapshot>(resource as typeof Volumes, object.metadata, {
      type: "merge",
      body,
    });
  };
  return {
    ...{ client, store, script },
    wake: async () => {
      for (const volume of (await store.list(Volumes)).items) await touch(volume);
      for (const snapshot of (await store.list(Snapshots)).items) await touch(snapshot);
    },
    end: () =>
      endAtRest(async () => {
        client.close();
        await server.stop(0);
        stop.abort();
        await Promise.all([arbiter.done, playing]);
        await store.close();
        await rm(folder, { recursive: true });
      }),
  };
}

async function addNode(store: LocalStore, name: string): Promise<void> {
  const meta = { apiVersion: MOORING_API_VERSION, metadata: { name } };
  const agent = await store.create(NodeAgents, { ...meta, kind: "NodeAgent", spec: {} });
  await store.updateStatus(NodeAgents, { ...agent, status: { state: "Ready" } });
  const spec = { type: "xfs" as const, nodeID: name, path: "/pool" };
  const pool = await store.create(Pools, { ...meta, kind: "Pool", spec });
  const status = { ready: true, totalBytes: 100 * GIB, freeBytes: 100 * GIB, promisedBytes: 0 };
  await store.updateStatus(Pools, { ...pool, status });
}

/** A pool that several nodes have open. */
export async function addSharedPool(
  store: LocalStore,
  name: string,
  nodes: readonly string[],
): Promise<void> {
  const meta = { apiVersion: MOORING_API_VERSION, metadata: { name } };
  const spec = { type: "xfs" as const, mode: "shared" as const, path: "/shared" };
  const pool = await store.create(Pools, { ...meta, kind: "Pool", spec });
  const status = {
    ...{ ready: true, totalBytes: 100 * GIB, freeBytes: 100 * GIB, promisedBytes: 0 },
    nodes: [...nodes],
  };
  await store.updateStatus(Pools, { ...pool, status });
}

async function play(store: LocalStore, script: Script, signal: AbortSignal): Promise<void> {
  const volumes = createInformer(store, Volumes);
  const snapshots = createInformer(store, Snapshots);
  const running = [volumes.run(signal), snapshots.run(signal)];
  const sources = [
    source(volumes, ({ metadata }) => [`Volume ${metadata.name}`]),
    source(snapshots, ({ metadata }) => [`Snapshot ${metadata.name}`]),
  ];
  const act = async (key: string): Promise<void> => {
    const [kind, name = ""] = key.split(" ");
    if (script.ignored.has(name)) return;
    try {
      if (kind === "Volume") await playVolume(store, script, name);
      else await playSnapshot(store, script, name);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  };
  const backoff = { baseMs: 5, maxMs: 20 };
  await Promise.all([actOn({ sources, act, backoff }, signal), ...running]);
}

async function playVolume(store: LocalStore, { errors }: Script, name: string): Promise<void> {
  const volume = await store.get(Volumes, { name });
  const pool = await store.get(Pools, { name: volume.spec.pool });
  const { nodeID: ownerID = "" } = pool.spec;
  const { nodeID = "", size } = volume.spec;
  const { state = "creating", currentNodeID = "" } = volume.status ?? {};
  const error = errors.get(name);
  const put = (status: Volume["status"] & object) => store.updateStatus(Volumes, { ...volume, status });
  if (volume.metadata.deletionTimestamp !== undefined && nodeID === "" && currentNodeID === "") {
    await removeFinalizer(store, { resource: Volumes, key: { name } }, ENGINE_FINALIZER);
  } else if (error !== undefined && state === "creating") {
    if (volume.status?.error === undefined) await put({ state, ownerID, error });
  } else if (state === "creating") await put({ state: "detached", ownerID, size });
  else if (nodeID !== currentNodeID && nodeID === pool.spec.nodeID) {
    await put({ state: "attached", currentNodeID: nodeID, device: "/dev/null", ownerID: nodeID, size });
  } else if (nodeID === "" && currentNodeID !== "") await put({ state: "detached", ownerID, size });
}

async function playSnapshot(store: LocalStore, { errors }: Script, name: string): Promise<void> {
  const snapshot = await store.get(Snapshots, { name });
  const error = errors.get(name);
  if (snapshot.metadata.deletionTimestamp !== undefined) {
    await removeFinalizer(store, { resource: Snapshots, key: { name } }, ENGINE_FINALIZER);
  } else if (error !== undefined) {
    if (snapshot.status?.error === undefined) {
      await store.updateStatus(Snapshots, { ...snapshot, status: { readyToUse: false, error } });
    }
  } else if (snapshot.status?.creationTime === undefined) {
    const status = { readyToUse: true, creationTime: new Date().toISOString(), restoreSize: GIB };
    await store.updateStatus(Snapshots, { ...snapshot, status });
  }
}
