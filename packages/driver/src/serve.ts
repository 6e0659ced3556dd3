import { setMaxListeners } from "node:events";
import { join } from "node:path";
import { createServer, type Observe } from "@mooring/csi";
import {
  createHost,
  ENGINE_KINDS,
  type PoolType,
  startAgent,
  startArbiter,
  startServices,
} from "@mooring/engine";
import { Events, LocalStore, type Logger, ResourceRegistry, startEventExpiry } from "@mooring/store";
import type { DriverMode } from "./context.ts";
import { createDriver } from "./driver.ts";

/** The pool that volumes get when their parameters name none. */
const DEFAULT_POOL = "default";

export interface ServeOptions {
  /** `unix:///path/csi.sock` */
  endpoint: string;
  mode: DriverMode;
  /** Absolute; everything is kept below it. One process at a time. */
  stateDir: string;
  nodeID: string;
  pool: { type: PoolType; size?: number; overcommit?: number };
  maxVolumesPerNode?: number;
  cgroupRoot?: string;
  version?: string;
  logger: Logger;
  signal: AbortSignal;
  /** Told of every CSI call when it is over. */
  observe?: Observe;
}

export interface Serving {
  /** Settles when everything is released; volumes in use stay mounted. */
  readonly done: Promise<void>;
}

/** The kinds that volumes are made of, without the rest of Kubernetes. */
function registry(): ResourceRegistry {
  return new ResourceRegistry([
    ...ENGINE_KINDS.map((resource) => ({ resource, hasStatus: true })),
    { resource: Events, hasStatus: false },
  ]);
}

/**
 * The driver as a process of its own: store, node agent, arbiter and CSI server. Resolves when the socket answers.
 * Parts are stopped in the reverse of the order in which they were started.
 */
export async function serveDriver(options: ServeOptions): Promise<Serving> {
  const { stateDir, nodeID, mode, logger, signal, endpoint, observe } = options;
  const host = createHost();
  const store = await LocalStore.open({ path: join(stateDir, "store"), registry: registry() });
  // Calls under way may still need the engine while the server says good-bye.
  const engine = new AbortController();
  setMaxListeners(0, engine.signal);
  const parts: Promise<void>[] = [];
  const release = async () => {
    engine.abort();
    await Promise.allSettled(parts);
    await store.close();
  };
  try {
    const common = { store, logger, signal: engine.signal };
    const pools = [{ name: DEFAULT_POOL, ...options.pool }];
    parts.push((await startAgent({ ...common, host, nodeID, stateDir, pools })).done);
    parts.push((await startArbiter(common)).done);
    parts.push((await startServices(common)).done);
    // Nobody else has this store, so nobody else would ever remove them.
    parts.push(startEventExpiry(common).done);
    const { maxVolumesPerNode, version, cgroupRoot } = options;
    const services = createDriver({
      ...{ store, host, nodeID, mode, stateDir, logger, signal: engine.signal },
      // Nobody else has this store.
      nodeOnly: mode === "node",
      alone: true,
      ...(maxVolumesPerNode === undefined ? {} : { maxVolumesPerNode }),
      ...(version === undefined ? {} : { version }),
      ...(cgroupRoot === undefined ? {} : { cgroupRoot }),
    });
    const server = createServer(services, {
      endpoint,
      logger,
      ...(observe === undefined ? {} : { observe }),
    });
    await server.start();
    return {
      done: aborted(signal)
        .then(() => server.stop())
        .then(release),
    };
  } catch (error) {
    await release();
    throw error;
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
