import type { Observe } from "@mooring/csi";
import { DRIVER_NAME, type LeaseTimes } from "@mooring/engine";
import {
  electionNeeds,
  type LeaderElectionOptions,
  leaseName,
  reportMissing,
  runAsLeader,
  type SidecarOptions,
  startSidecars,
} from "@mooring/sidecars";
import { defined, type Logger, managedBy, type ObjectStore } from "@mooring/store";
import { startEngine } from "../storage/engine.ts";
import { startDriver } from "../storage/node-volumes.ts";
import { Parts } from "../storage/parts.ts";
import { failure, untilStopped } from "../storage/until-stopped.ts";
import { ENGINE_NEEDS } from "./rights.ts";

/** What `mooring controller --engine` starts with. */
export interface ClusterControllerOptions {
  /** The cluster's API server, with our kinds installed. */
  store: ObjectStore;
  /** The driver's controller service listens there, for the sidecars of this process: `unix:///path/csi.sock`. */
  endpoint: string;
  /** A folder of this process's own. */
  stateDir: string;
  /** Names this process to operators, and in the driver's events. */
  name: string;
  /** Settings of the sidecars. */
  sidecars: Omit<SidecarOptions, "store" | "endpoint" | "logger" | "signal" | "leaderElection">;
  /** As the nodes have them. */
  leases: Partial<LeaseTimes>;
  /** A node that does not respond for so long is suspect; milliseconds. */
  nodeGraceMs: number;
  /** Absent: this is the only process of its kind. */
  leaderElection?: LeaderElectionOptions;
  version?: string;
  observe?: Observe;
  logger: Logger;
  signal: AbortSignal;
  /** Called each time this process has begun to lead, with the controllers that run. */
  onLeading?(controllers: readonly string[]): void;
}

/**
 * Everything of our own volumes that a cluster has once: fencing, arbiter, data services, the driver's controller service and
 * the sidecars around it. All of it runs only while this process leads; a lost lease ends the term, not the process. Settles
 * after the signal; rejects when a part failed beyond repair.
 */
export async function runClusterController(options: ClusterControllerOptions): Promise<void> {
  const { leaderElection, signal, store, logger } = options;
  if (leaderElection === undefined) return lead(options, signal);
  const { namespace = "kube-system" } = options.sidecars;
  await reportMissing(store, electionNeeds(leaderElection), { namespace, logger, signal });
  await runAsLeader(
    { store, logger, namespace, name: leaseName(DRIVER_NAME) },
    leaderElection,
    (term) => lead(options, term),
    signal,
  );
}

async function lead(options: ClusterControllerOptions, term: AbortSignal): Promise<void> {
  const { logger } = options;
  const { failed, fail } = failure();
  const parts = new Parts(logger, fail, term);
  try {
    await start(options, parts);
    await untilStopped(term, failed);
  } catch (error) {
    // What was being started when the lease was lost, or when an operator wanted it to end, has not failed.
    if (!term.aborted) throw error;
  } finally {
    await parts.stop();
  }
}

async function start(options: ClusterControllerOptions, parts: Parts): Promise<void> {
  const { store, endpoint, stateDir, name: nodeName, logger, leases, nodeGraceMs } = options;
  const { version, observe, signal } = options;
  const { namespace = "kube-system" } = options.sidecars;
  await reportMissing(store, ENGINE_NEEDS, { namespace, logger, signal });
  await startEngine({ store, parts, logger, leases, nodeGraceMs });
  await startDriver({
    ...{ store, nodeName, stateDir, parts, logger, mode: "controller", endpoint },
    ...defined({ version, observe }),
  });
  const { controllers } = await parts.start("sidecars", (signal) =>
    startSidecars({
      ...options.sidecars,
      store: managedBy(store, `external-${DRIVER_NAME}`),
      ...{ endpoint, logger, signal },
    }),
  );
  options.onLeading?.(controllers);
}
