import { setMaxListeners } from "node:events";
import { connect } from "@mooring/csi";
import { defined, type Logger, silentLogger } from "@mooring/store";
import type { DriverHealth } from "./common/driver-health.ts";
import { type ControllerName, divide, supportedControllers } from "./controllers.ts";
import { type Driver, describeDriver } from "./csi/driver.ts";
import type { DriverInfo } from "./csi/driver-info.ts";
import { type CallMeasurement, measured } from "./csi/measured.ts";
import { oneAtATime } from "./csi/one-at-a-time.ts";
import { waitUntilReady } from "./csi/probe.ts";
import type { Caches } from "./kube/caches.ts";
import { leaseName, runAsLeader } from "./leader.ts";
import type { LeaderElectionOptions, SidecarOptions } from "./options.ts";
import { reportMissing } from "./rights/check.ts";
import { controllerNeeds, electionNeeds } from "./rights/needs.ts";
import type { Shared } from "./shared.ts";
import { sidecarLeases, whileSidecarsRest } from "./sidecar-leases.ts";
import { runTerms } from "./term.ts";

/** The controllers of a driver that run. */
export interface Sidecars {
  /** What the driver reported about itself at the start. A driver that comes back changed gets other controllers. */
  driver: DriverInfo;
  /** Which controllers run at first, or will run when this process leads. */
  controllers: readonly ControllerName[];
  /** Whether the driver responds; live. */
  health: Readonly<DriverHealth>;
  /** Settles when everything has stopped and the connection is closed. Rejects when a controller broke. */
  done: Promise<void>;
}

/**
 * Starts the control plane around one CSI driver: Kubernetes objects in the store on one side, calls to the driver
 * on the other. Resolves when the driver has responded and the controllers are running. `shared`: with other drivers of this process,
 * whose leadership then counts instead of `leaderElection`.
 */
export async function startSidecars(options: SidecarOptions, shared?: Shared): Promise<Sidecars> {
  const { endpoint, logger = silentLogger, now = Date.now } = options;
  const own = new AbortController();
  const signal = AbortSignal.any([options.signal, own.signal]);
  // Every informer, queue and call listens to it.
  setMaxListeners(0, signal);
  const driver = await reachDriver(endpoint, options, signal);
  const freeName = takeName(driver, endpoint, shared);
  const health: DriverHealth = { ready: true, message: "", since: now() };
  const base = {
    ...options,
    logger: logger.child({ driver: driver.info.name }),
    driver,
    driverHealth: health,
  };
  const names = supportedControllers(driver.info, options);
  const missing = options.controllers?.filter((name) => !names.includes(name)) ?? [];
  if (missing.length > 0)
    base.logger.warn({ controllers: missing }, "the driver does not support what these need");
  logger.info(
    { driver: driver.info.name, version: driver.info.version, controllers: names },
    "starting sidecars",
  );
  const { namespace = "kube-system", store } = options;
  const some = (who: "each" | "leader") => (info: DriverInfo) =>
    divide(supportedControllers(info, options), options)[who];
  const lead = (term: AbortSignal, caches?: Caches) =>
    runTerms({ ...base, ...defined({ caches }) }, some("leader"), term);
  const election = shared === undefined ? electionFor(options, some("leader")(driver.info)) : undefined;
  const needs = new Map([...controllerNeeds(names), ...electionNeeds(election)]);
  const rights = reportMissing(store, needs, { namespace, logger: base.logger, signal });
  const leading = () => {
    if (shared !== undefined) return shared.leadership.whileLeading(lead, signal);
    if (election === undefined) return lead(signal);
    return leadAlone(base, { election, parts: some("leader")(driver.info), lead }, signal);
  };
  const each = { ...base, ...defined({ caches: shared?.caches }) };
  const running = [rights, runTerms(each, some("each"), signal), leading()];
  const done = finish(driver, running, own, signal).finally(freeName);
  return { driver: driver.info, controllers: names, health, done };
}

interface Alone {
  election: LeaderElectionOptions;
  /** What this process does when it leads. */
  parts: readonly ControllerName[];
  lead: (term: AbortSignal) => Promise<void>;
}

/** Whenever no other replica works for the driver, and no sidecar that these parts take the place of. */
function leadAlone(
  base: SidecarOptions & { driver: Driver; logger: Logger },
  { election, parts, lead }: Alone,
  signal: AbortSignal,
): Promise<void> {
  const { driver, nodeDeployment } = base;
  const name = leaseName(driver.info.name);
  // With a process on every node no sidecar leads.
  const leases = nodeDeployment === undefined ? sidecarLeases(driver.info.name, parts) : [];
  const afterThem = (term: AbortSignal) =>
    whileSidecarsRest({ ...base, name, identity: name, leases, election }, lead, term);
  return runAsLeader({ ...base, name }, election, afterThem, signal);
}

/** A driver that reports another one's name is not called any more. */
function takeName({ client, info }: Driver, endpoint: string, shared: Shared | undefined): () => void {
  try {
    return shared?.names.take(info.name, endpoint) ?? (() => {});
  } catch (error) {
    client.close();
    throw error;
  }
}

/** The processes of several nodes always agree on who does what is to be done once. */
function electionFor(
  { leaderElection, nodeDeployment }: SidecarOptions,
  toLead: readonly ControllerName[],
): LeaderElectionOptions | undefined {
  if (nodeDeployment === undefined) return leaderElection;
  return toLead.length === 0 ? undefined : (leaderElection ?? {});
}

async function reachDriver(endpoint: string, options: SidecarOptions, signal: AbortSignal): Promise<Driver> {
  const { logger = silentLogger, onCall, timeoutMs = 60_000 } = options;
  const channel = await connect(endpoint, { logger });
  try {
    const client = await waitUntilReady(channel, { signal, timeoutMs: Math.min(timeoutMs, 10_000), logger });
    const ofNode = options.nodeDeployment !== undefined;
    const info = await describeDriver(client, { signal, timeoutMs, ofNode });
    const report = (call: CallMeasurement) => onCall?.({ ...call, driver: info.name });
    return { info, client: oneAtATime(onCall === undefined ? client : measured(client, report)) };
  } catch (error) {
    channel.close();
    throw error;
  }
}

/** One broken controller ends them all: half a control plane is worse than one that is started again. */
async function finish(
  driver: Driver,
  running: Promise<void>[],
  own: AbortController,
  signal: AbortSignal,
): Promise<void> {
  try {
    await Promise.all(running);
  } catch (error) {
    // Calls that the end has cancelled are no failures.
    if (!signal.aborted) throw error;
  } finally {
    own.abort();
    await Promise.allSettled(running);
    driver.client.close();
  }
}
