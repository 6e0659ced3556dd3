import { setMaxListeners } from "node:events";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { createServer, type Observe } from "@mooring/csi";
import {
  type AgentPool,
  createHost,
  ENGINE_KINDS,
  EngineError,
  Pools,
  type PoolType,
  poolBelow,
  startAgent,
  startArbiter,
  startServices,
} from "@mooring/engine";
import {
  defined,
  Events,
  isNotFound,
  Leases,
  LocalStore,
  type Logger,
  lockFolder,
  makeFolder,
  type ObjectStore,
  ResourceRegistry,
  startEventExpiry,
  startStateCopies,
} from "@mooring/store";
import type { DriverMode } from "./context.ts";
import { createDriver } from "./driver.ts";

/** The pool that volumes get when their parameters name none. */
const DEFAULT_POOL = "default";

/** What `mooring driver` serves, and where. */
export interface ServeOptions {
  /** `unix:///path/csi.sock` */
  endpoint: string;
  mode: DriverMode;
  /** Absolute; everything is kept below it. One process at a time, but for controllers on an API server. */
  stateDir: string;
  nodeID: string;
  /** The node's own pool; `name` is needed where other nodes share the store. */
  pool: { name?: string; type: PoolType; size?: number; overcommit?: number };
  /**
   * Pools in Ceph clusters, for volumes whose parameters name them. One with the name of the node's own pool is in its
   * place.
   */
  rbdPools?: readonly AgentPool[];
  /**
   * Objects of an API server that runs the arbiter and the data services, as `mooring up` does: other processes with the
   * same one serve the other parts. Default: a store of its own below the state folder, which no other process sees.
   */
  store?: ObjectStore;
  maxVolumesPerNode?: number;
  /** Deleting a volume group never deletes a volume. Default false. */
  keepGroupVolumes?: boolean;
  cgroupRoot?: string;
  version?: string;
  logger: Logger;
  signal: AbortSignal;
  /** Return INTERNAL where a response breaks a rule of CSI; for tests. */
  strictResponses?: boolean;
  /** Called after every CSI call. */
  observe?: Observe;
}

/** A driver that accepts calls on its socket. */
export interface Serving {
  /** Settles when everything is released; volumes in use stay mounted. */
  readonly done: Promise<void>;
}

/** The kinds that volumes are made of, without the rest of Kubernetes. */
function registry(): ResourceRegistry {
  return new ResourceRegistry([
    ...ENGINE_KINDS.map((resource) => ({ resource, hasStatus: true })),
    ...[Events, Leases].map((resource) => ({ resource, hasStatus: false })),
  ]);
}

interface Objects {
  store: ObjectStore;
  /** No other process has them: the arbiter and the data services have to run here. */
  alone: boolean;
  close(): Promise<void>;
}

/** Throws StoreOpenError when another process has the state folder. */
async function openObjects({ stateDir, mode, store, logger, signal }: ServeOptions): Promise<Objects> {
  const path = join(stateDir, "store");
  if (store === undefined) {
    const evidence = () => poolBelow(stateDir);
    const own = await LocalStore.open({ path, registry: registry(), evidence, headroom: true });
    // A start that fails closes the store as well, and no caller aborts `signal` then.
    const closing = new AbortController();
    const until = AbortSignal.any([signal, closing.signal]);
    const copies = startStateCopies({ store: own, stateDir, logger, signal: until });
    const close = async () => {
      closing.abort();
      await copies.done;
      await own.close();
    };
    return { store: own, alone: true, close };
  }
  // Controllers keep nothing on their machine.
  if (mode === "controller") return { store, alone: false, close: async () => {} };
  await makeFolder(path, 0o700);
  return { store, alone: false, close: await lockFolder(path) };
}

/**
 * The driver as a process of its own: store, node agent, arbiter and CSI server. On an API server's objects, only the
 * agent of a node and the CSI server. Resolves when the socket accepts calls. Parts are stopped in the reverse of the order
 * in which they were started. Throws NodeInUse when another agent runs for the node, FAILED_PRECONDITION when the pool is
 * there with another type.
 */
export async function serveDriver(options: ServeOptions): Promise<Serving> {
  const { nodeID, mode, logger, signal, endpoint, observe } = options;
  const host = createHost({ server: true });
  const { store, alone, close } = await openObjects(options);
  // As the kernel names it: mounts and devices below a symbolic link would not be found again under its name.
  const stateDir = await realpath(options.stateDir).catch(() => options.stateDir);
  // Calls under way may still need the engine while the server ends its calls.
  const engine = new AbortController();
  setMaxListeners(0, engine.signal);
  const parts: Promise<void>[] = [];
  const release = async () => {
    engine.abort();
    await Promise.allSettled(parts);
    await close();
  };
  try {
    const common = { store, logger, signal: engine.signal };
    const pool = { name: DEFAULT_POOL, ...options.pool };
    const { rbdPools = [] } = options;
    const own: AgentPool[] = rbdPools.some(({ name }) => name === pool.name) ? [] : [pool];
    const pools = [...own, ...rbdPools];
    const leases = rbdPools.length === 0 ? undefined : {};
    for (const each of pools) await requireType(store, each);
    if (alone || mode !== "controller") {
      parts.push(
        (await startAgent({ ...common, host, nodeID, stateDir, pools, ...defined({ leases }) })).done,
      );
    }
    if (alone) {
      parts.push((await startArbiter(common)).done);
      parts.push((await startServices(common)).done);
      parts.push(startEventExpiry(common).done);
    }
    const { maxVolumesPerNode, version, cgroupRoot } = options;
    const services = createDriver({
      ...{ store, host, nodeID, mode, stateDir, logger, signal: engine.signal, alone },
      nodeOnly: alone && mode === "node",
      keepGroupVolumes: options.keepGroupVolumes ?? false,
      ...defined({ maxVolumesPerNode, version, cgroupRoot }),
    });
    const server = createServer(services, {
      ...{ endpoint, logger, strictResponses: options.strictResponses ?? false },
      ...defined({ observe }),
    });
    await server.start();
    const stopped = Promise.race([aborted(signal), firstFailure(parts)]);
    return { done: stopped.finally(() => server.stop()).finally(release) };
  } catch (error) {
    await release();
    throw error;
  }
}

/** A pool stays of the type that it was made with: throws FAILED_PRECONDITION when it is there with another one. */
async function requireType(store: ObjectStore, pool: { name: string; type: PoolType }): Promise<void> {
  const present = await store.get(Pools, { name: pool.name }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
  const type = present?.spec.type ?? pool.type;
  if (type === pool.type) return;
  throw new EngineError(
    "FAILED_PRECONDITION",
    `pool "${pool.name}" is of type ${type}, not ${pool.type}: a pool stays what it was made as`,
    { hint: `start with --pool ${type}, or choose another --state-dir` },
  );
}

/** Rejects when a part does, and never resolves: parts end well only when they are stopped. */
function firstFailure(parts: readonly Promise<void>[]): Promise<never> {
  const never = new Promise<never>(() => {});
  return Promise.race(parts.map((part) => part.then(() => never)).concat(never));
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
