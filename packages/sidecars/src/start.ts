import { setMaxListeners } from "node:events";
import { connect } from "@mooring/csi";
import {
  EventRecorder,
  isNotFound,
  type Logger,
  type ObjectStore,
  silentLogger,
  VolumeSnapshots,
} from "@mooring/store";
import type { SidecarContext } from "./common/context.ts";
import { CONTROLLERS, type ControllerName, type ControllerOptions } from "./controllers.ts";
import { type Driver, describeDriver } from "./csi/driver.ts";
import type { DriverInfo } from "./csi/driver-info.ts";
import { waitUntilReady } from "./csi/probe.ts";
import type { DriverHealth } from "./health/index.ts";
import { Cluster } from "./kube/cluster.ts";

export interface SidecarOptions extends ControllerOptions {
  store: ObjectStore;
  /** The driver's socket: `unix:///path/csi.sock`. */
  endpoint: string;
  /** Default: every one that the driver's capabilities allow. */
  controllers?: readonly ControllerName[];
  logger?: Logger;
  /** Stops everything. */
  signal: AbortSignal;
  /** Where records of unfinished calls and capacity objects are kept; default `kube-system`. */
  namespace?: string;
  /** Time for one call to the driver in milliseconds; default 60,000. */
  timeoutMs?: number;
  /** Pauses between failing calls in milliseconds; default 1,000 up to 300,000, infeasible ones at least 300,000. */
  retry?: Partial<SidecarContext["retry"]>;
  /** Keys that one controller works on at the same time; default 50. */
  concurrency?: number;
  /** Milliseconds since the epoch; default `Date.now`. */
  now?: () => number;
}

export interface Sidecars {
  /** What the driver said about itself at the start. */
  driver: DriverInfo;
  /** Which controllers run. */
  controllers: readonly ControllerName[];
  /** Whether the driver answers; live. */
  health: Readonly<DriverHealth>;
  /** Settles when everything has stopped and the connection is closed. Rejects when a controller broke. */
  done: Promise<void>;
}

/**
 * Starts the control plane around one CSI driver: Kubernetes objects in the store on one side, calls to the driver
 * on the other. Resolves when the driver has answered and the controllers are running.
 */
export async function startSidecars(options: SidecarOptions): Promise<Sidecars> {
  const { endpoint, logger = silentLogger, timeoutMs = 60_000 } = options;
  const own = new AbortController();
  const signal = AbortSignal.any([options.signal, own.signal]);
  // Every informer, queue and call listens to it.
  setMaxListeners(0, signal);
  const client = await connect(endpoint, { logger });
  try {
    await waitUntilReady(client, { signal, timeoutMs: Math.min(timeoutMs, 10_000), logger });
    const info = await describeDriver(client, { signal, timeoutMs });
    const context = await contextFor({ ...options, signal }, { info, client });
    const names = (options.controllers ?? ALL).filter((name) =>
      CONTROLLERS[name].supported(context, options),
    );
    logger.info({ driver: info.name, version: info.version, controllers: names }, "starting sidecars");
    const running = names.map((name) => CONTROLLERS[name].run(context, options, context.cluster.signal));
    return { driver: info, controllers: names, health: context.health, done: finish(context, running, own) };
  } catch (error) {
    own.abort();
    client.close();
    throw error;
  }
}

const ALL = Object.keys(CONTROLLERS) as ControllerName[];

async function contextFor(options: SidecarOptions, driver: Driver): Promise<SidecarContext> {
  const { store, signal, logger = silentLogger, now = Date.now, namespace = "kube-system" } = options;
  const { name } = driver.info;
  return {
    store,
    cluster: new Cluster(store, name, namespace, signal),
    driver,
    events: new EventRecorder(store, { component: name, logger, clock: now }),
    logger: logger.child({ driver: name }),
    now,
    namespace,
    timeoutMs: options.timeoutMs ?? 60_000,
    retry: { startMs: 1_000, maxMs: 300_000, infeasibleMs: 300_000, ...options.retry },
    concurrency: options.concurrency ?? 50,
    health: { ready: true, message: "", since: now() },
    hasSnapshotKinds: await isServed(store),
  };
}

/** Clusters without the snapshot kinds lose snapshots, and nothing else. */
async function isServed(store: ObjectStore): Promise<boolean> {
  try {
    await store.list(VolumeSnapshots, { limit: 1 });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** One broken controller ends them all: half a control plane is worse than one that is started again. */
async function finish(
  { cluster, driver, events }: SidecarContext,
  running: Promise<void>[],
  own: AbortController,
): Promise<void> {
  try {
    await Promise.all(running);
  } catch (error) {
    // Calls that the end has cancelled are no failures.
    if (!cluster.signal.aborted) throw error;
  } finally {
    own.abort();
    await Promise.allSettled(running);
    await events.flush();
    await cluster.done;
    driver.client.close();
  }
}
