import { sanitizeDriverName } from "./common/names.ts";
import type { ControllerName } from "./controllers.ts";
import { type Candidate, runAsLeader } from "./leader.ts";
import type { LeaderElectionOptions } from "./options.ts";

/** What the name of a sidecar's lease begins with, and the controllers that do its work. */
const SIDECARS: readonly (readonly [string, ReadonlySet<ControllerName>])[] = [
  ["", new Set(["provision"])],
  ["external-attacher-leader-", new Set(["attach"])],
  ["external-resizer-", new Set(["resize", "modify"])],
  ["external-snapshotter-leader-", new Set(["snapshot", "snapshot-content", "group-snapshot"])],
  ["external-health-monitor-leader-", new Set(["health"])],
];

/**
 * The leases by which the Kubernetes project's sidecars of a driver lead whose work these controllers do. That of snapshot-controller
 * is not among them: it is of the whole cluster, and two drivers may each have a control plane like this one.
 */
export function sidecarLeases(driver: string, controllers: readonly ControllerName[]): string[] {
  return SIDECARS.filter(([, parts]) => controllers.some((name) => parts.has(name))).map(([prefix]) =>
    (prefix + sanitizeDriverName(driver)).toLowerCase(),
  );
}

/** Who takes them, and how. */
interface Heir extends Candidate {
  leases: readonly string[];
  /**
   * The same for all replicas: whose turn it is among these is decided before, and the next one need not wait until a lease
   * has ended.
   */
  identity: string;
  election: LeaderElectionOptions;
}

/** As long as the sidecars themselves wait. */
const RETRY_MS = 5_000;
/** A lease that has not come by then is held by a sidecar that works. */
const REPORT_MS = 20_000;

/**
 * Works while it also holds all of these leases: a sidecar that still leads, or does again, and this process never call the driver
 * for the same objects. Until the signal.
 */
export async function whileSidecarsRest(
  { identity, leases, election, ...candidate }: Heir,
  work: (term: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const [name, ...others] = leases;
  if (name === undefined) return work(signal);
  const waits = "a sidecar of this driver has its lease; end it, or leave its part out of --controllers";
  const report = setTimeout(() => candidate.logger.warn({ lease: name }, waits), REPORT_MS).unref();
  const lead = (term: AbortSignal) => {
    clearTimeout(report);
    return whileSidecarsRest({ ...candidate, identity, election, leases: others }, work, term);
  };
  try {
    const options = { retryMs: RETRY_MS, ...election, name, identity };
    await runAsLeader({ ...candidate, name }, options, lead, signal);
  } catch (error) {
    // The term of the process has ended while it waited.
    if (!signal.aborted) throw error;
  } finally {
    clearTimeout(report);
  }
}
