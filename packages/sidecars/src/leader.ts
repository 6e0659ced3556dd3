import { hostname } from "node:os";
import { acquireLease, type Logger, type ObjectStore } from "@mooring/store";
import { sanitizeDriverName } from "./common/names.ts";
import type { LeaderElectionOptions } from "./options.ts";

/** Who wants to lead, and where that is written. */
export interface Candidate {
  store: ObjectStore;
  /** Of the Lease, unless the options name another. */
  name: string;
  logger: Logger;
  /** Of the Lease, unless the options name another; default `kube-system`. */
  namespace?: string;
}

/** The lease of everything that works for one driver in the whole cluster. */
export const leaseName = (driver: string): string =>
  `mooring-sidecars-${sanitizeDriverName(driver).toLowerCase()}`;

/**
 * Leads whenever this process holds the lease, until the signal. A lost lease ends the term, not the process: caches and
 * connections of other drivers have nothing to do with it.
 */
export async function runAsLeader(
  { store, name, logger, namespace = "kube-system" }: Candidate,
  options: LeaderElectionOptions,
  lead: (term: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const election = {
    name,
    namespace,
    identity: `${hostname()}-${process.pid}-${Math.random().toString(36).slice(2, 8)}`,
    ...options,
    logger,
  };
  while (!signal.aborted) {
    const held = await acquireLease(store, election, signal);
    logger.info({ lease: election.name, identity: election.identity }, "leading");
    try {
      await lead(AbortSignal.any([signal, held.lost]));
    } finally {
      // Who has failed must not keep it renewed: that holds up the process's end, and the process that would lead instead.
      await held.release();
    }
    if (!signal.aborted) logger.warn({ lease: election.name }, "lost the lease; waiting for it");
  }
}
