import { setMaxListeners } from "node:events";
import {
  defined,
  delay,
  EventRecorder,
  groupResource,
  isForbidden,
  isNotFound,
  type ObjectStore,
  type Resource,
  VolumeAttributesClasses,
  VolumeGroupSnapshots,
  VolumeSnapshots,
} from "@mooring/store";
import type { SidecarContext } from "./common/context.ts";
import type { DriverHealth } from "./common/driver-health.ts";
import { capacityManager, type Here } from "./common/here.ts";
import { AskedDriver } from "./common/patience.ts";
import { CONTROLLERS, type ControllerName } from "./controllers.ts";
import type { Driver } from "./csi/driver.ts";
import type { DriverInfo } from "./csi/driver-info.ts";
import type { Caches } from "./kube/caches.ts";
import { Cluster } from "./kube/cluster.ts";
import { ReferenceGrants, VolumePopulators } from "./kube/data-sources.ts";
import { VolumeGroupClones } from "./kube/group-clone.ts";
import { VolumeGroupRestores } from "./kube/group-restore.ts";
import { VolumeGroups } from "./kube/volume-group.ts";
import type { SidecarOptions } from "./options.ts";

type Base = SidecarOptions & {
  driver: Driver;
  driverHealth: DriverHealth;
  logger: NonNullable<SidecarOptions["logger"]>;
  /** Of kinds that are kept whole; absent: each term has caches of its own. */
  caches?: Caches;
};

/** Milliseconds between checks whether an administrator has installed kinds that were not there. */
const KINDS_MS = 30_000;

/**
 * Runs the controllers that a driver can have, and starts over with others when it comes back as one that can other
 * things. Other drivers of this process do not notice.
 */
export async function runTerms(
  base: Base,
  choose: (driver: DriverInfo) => readonly ControllerName[],
  until: AbortSignal,
): Promise<void> {
  let { info } = base.driver;
  for (;;) {
    const renewal = new AbortController();
    const onDriverChanged = (changed: DriverInfo) => {
      info = changed;
      renewal.abort();
    };
    const onKind = () => renewal.abort();
    const driver = { ...base.driver, info };
    const term = AbortSignal.any([until, renewal.signal]);
    await runTerm({ ...base, driver }, choose(info), { onDriverChanged, onKind }, term);
    if (until.aborted || !renewal.signal.aborted) return;
    // The lease, the log and the metrics are all of the one that was there at the start.
    if (info.name !== base.driver.info.name)
      throw new Error(`the driver ${base.driver.info.name} at ${base.endpoint} has become ${info.name}`);
  }
}

/** What ends a term, so that another one begins. */
interface Renewals {
  onDriverChanged: (info: DriverInfo) => void;
  /** A kind has been installed whose objects the controllers would have followed from their start. */
  onKind: () => void;
}

/** Runs controllers, with caches of their own, from now until the signal. Rejects when one of them breaks. */
async function runTerm(
  base: Base,
  names: readonly ControllerName[],
  { onDriverChanged, onKind }: Renewals,
  until: AbortSignal,
): Promise<void> {
  if (names.length === 0) return;
  const own = new AbortController();
  const signal = AbortSignal.any([until, own.signal]);
  setMaxListeners(0, signal);
  const context = await contextFor(base, names, onDriverChanged, signal);
  const running = [
    ...names.map((name) => runNamed(context, base, name, signal)),
    ...(names.includes("provision") ? [awaitSourceKinds(context, base, onKind, signal)] : []),
  ];
  try {
    await Promise.all(running);
  } catch (error) {
    if (!until.aborted) throw error;
  } finally {
    own.abort();
    await Promise.allSettled(running);
    await context.events.flush();
    await context.cluster.done;
  }
}

async function runNamed(
  context: SidecarContext,
  base: Base,
  name: ControllerName,
  signal: AbortSignal,
): Promise<void> {
  const controller = CONTROLLERS[name];
  if (controller.needsAttributesClasses === true) await waitForKinds(context, "hasAttributesClasses", signal);
  if (controller.needsSnapshotKinds === true) await waitForKinds(context, "hasSnapshotKinds", signal);
  if (controller.needsGroupKinds === true) await waitForKinds(context, "hasGroupKinds", signal);
  if (controller.needsRestoreKind === true) await waitForKinds(context, "hasRestoreKind", signal);
  if (controller.needsCloneKind === true) await waitForKinds(context, "hasCloneKind", signal);
  if (controller.needsVolumeGroupKinds === true) await waitForKinds(context, "hasVolumeGroupKinds", signal);
  await controller.run(context, base, signal);
}

/** They ask the driver for the data of contents. */
const ASK_FOR_CONTENTS: readonly ControllerName[] = ["snapshot", "snapshot-content", "group-snapshot"];

async function contextFor(
  base: Base,
  names: readonly ControllerName[],
  onDriverChanged: (info: DriverInfo) => void,
  signal: AbortSignal,
): Promise<SidecarContext> {
  const {
    concurrency = 50,
    driver,
    driverHealth: health,
    logger,
    namespace = "kube-system",
    now = Date.now,
    retry,
    store,
  } = base;
  const { can, controller, name } = driver.info;
  const here = hereOf(base, driver.info);
  const shared = defined({ shared: base.caches });
  const capacities = here === undefined ? {} : { capacityManager: capacityManager(here) };
  const hasSnapshotKinds = await isServed(store, VolumeSnapshots, signal);
  return {
    store,
    cluster: new Cluster(store, { driver: name, namespace, logger, ...capacities, ...shared }, signal),
    driver,
    here,
    distributedSnapshots: base.distributedSnapshots === true || here !== undefined,
    events: new EventRecorder(store, { component: name, logger, clock: now }),
    logger,
    now,
    namespace,
    timeoutMs: base.timeoutMs ?? 60_000,
    retry: { startMs: 1_000, maxMs: 300_000, infeasibleMs: 300_000, ...retry },
    concurrency,
    health,
    onDriverChanged,
    // It does not heed snapshot kinds that are installed later.
    asked: ASK_FOR_CONTENTS.some((name) => names.includes(name)) ? new AskedDriver() : undefined,
    reclaims: names.includes("provision") && hasSnapshotKinds,
    attaches: names.includes("attach") && controller && can.has("PUBLISH_UNPUBLISH_VOLUME"),
    hasSnapshotKinds,
    hasAttributesClasses:
      can.has("MODIFY_VOLUME") && (await isServed(store, VolumeAttributesClasses, signal)),
    hasGroupKinds: await isServed(store, VolumeGroupSnapshots, signal),
    hasRestoreKind: await isServed(store, VolumeGroupRestores, signal),
    hasCloneKind: await isServed(store, VolumeGroupClones, signal),
    hasVolumeGroupKinds: await isServed(store, VolumeGroups, signal),
    hasReferenceGrants: await isServed(store, ReferenceGrants, signal),
    hasPopulators: await isServed(store, VolumePopulators, signal),
  };
}

/** Where this process works for one node: which. Throws where the driver leaves open what that node has. */
function hereOf(
  { nodeDeployment, nodeName }: Base,
  { name, runsOn, topology }: DriverInfo,
): Here | undefined {
  if (nodeDeployment === undefined) return undefined;
  if (nodeName === undefined) throw new Error("a node deployment works for one node, and none is named");
  if (!topology || runsOn === undefined || Object.keys(runsOn.segments).length === 0)
    throw new Error(
      `driver ${name} does not say where its volumes are (VOLUME_ACCESSIBILITY_CONSTRAINTS, and accessible_topology of ` +
        "NodeGetInfo), so they are no single node's: run one control plane for all nodes",
    );
  return { node: nodeName, ...runsOn };
}

const KINDS = {
  hasAttributesClasses: { resource: VolumeAttributesClasses, called: "VolumeAttributesClasses" },
  hasSnapshotKinds: { resource: VolumeSnapshots, called: "snapshot kinds" },
  hasGroupKinds: { resource: VolumeGroupSnapshots, called: "kinds of group snapshots" },
  hasRestoreKind: { resource: VolumeGroupRestores, called: "kinds of group restores" },
  hasCloneKind: { resource: VolumeGroupClones, called: "kinds of group clones" },
  hasVolumeGroupKinds: { resource: VolumeGroups, called: "kinds of volume groups" },
} as const;

/** A cluster without these kinds lacks what they are for, and nothing else. */
async function waitForKinds(
  context: SidecarContext,
  which: keyof typeof KINDS,
  signal: AbortSignal,
): Promise<void> {
  const { called, resource } = KINDS[which];
  if (!context[which])
    context.logger.warn({}, `the ${called} are not installed, or may not be listed; waiting for them`);
  while (!context[which]) {
    await delay(KINDS_MS, signal);
    context[which] = await isServed(context.store, resource, signal);
  }
}

/**
 * Claims wait for objects of these kinds. A term without them begins anew when one is installed, and follows it: what waits
 * for a grant goes on with it, not at its next attempt.
 */
async function awaitSourceKinds(
  { hasReferenceGrants, hasPopulators, store, logger }: SidecarContext,
  { kindsMs = KINDS_MS }: Base,
  onKind: () => void,
  signal: AbortSignal,
): Promise<void> {
  const missing: Resource[] = [
    ...(hasReferenceGrants ? [] : [ReferenceGrants as Resource]),
    ...(hasPopulators ? [] : [VolumePopulators as Resource]),
  ];
  const isThere = (kind: Resource) => isServed(store, kind, signal).catch(() => false);
  while (missing.length > 0) {
    await delay(kindsMs, signal).catch(() => {});
    if (signal.aborted) return;
    const there = await Promise.all(missing.map(isThere));
    const kinds = missing.filter((_, index) => there[index]).map(groupResource);
    if (kinds.length === 0) continue;
    logger.info({ kinds }, "kinds have been installed: the controllers begin anew, to follow them");
    return onKind();
  }
}

/** A right that is missing for a kind that not everybody needs ends nothing. Who needs it has been asked for at the start. */
async function isServed(store: ObjectStore, resource: Resource, signal: AbortSignal): Promise<boolean> {
  try {
    await store.list(resource, { limit: 1, signal });
    return true;
  } catch (error) {
    if (isNotFound(error) || isForbidden(error)) return false;
    throw error;
  }
}
