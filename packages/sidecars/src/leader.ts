import { hostname } from "node:os";
import { acquireLease, type Logger, type ObjectStore } from "@mooring/store";
import { sanitizeDriverName } from "./common/names.ts";
import type { Driver } from "./csi/driver.ts";
import type { LeaderElectionOptions } from "./start.ts";

interface Candidate {
  store: ObjectStore;
  driver: Driver;
  logger: Logger;
  namespace?: string;
}

/**
 * Leads whenever this process holds the driver's lease. A lost lease ends the term, not the process: caches and
 * connections of other drivers have nothing to do with it.
 */
export async function runAsLeader(
  { store, driver, logger, namespace = "kube-system" }: Candidate,
  options: LeaderElectionOptions,
  lead: (term: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const lease = {
    name: `mooring-sidecars-${sanitizeDriverName(driver.info.name).toLowerCase()}`,
    namespace,
    identity: `${hostname()}-${process.pid}-${Math.random().toString(36).slice(2, 8)}`,
    ...options,
    logger,
  };
  while (!signal.aborted) {
    const held = await acquireLease(store, lease, signal);
    logger.info({ lease: lease.name, identity: lease.identity }, "leading");
    await lead(AbortSignal.any([signal, held.lost]));
    await held.release();
    if (!signal.aborted) logger.warn({ lease: lease.name }, "lost the lease; waiting for it");
  }
}
