import { Code } from "@mooring/csi";
import { delay, failpoint, keyOf, type PersistentVolume } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { ifHere } from "../common/here.ts";
import { VOLUME_CONDITION } from "../common/names.ts";
import { callFailure } from "../csi/codes.ts";
import { listVolumes } from "../csi/list-volumes.ts";
import { patchMetadata } from "../kube/patch.ts";
import { type Condition, decideCondition } from "./decide.ts";
import { DriverProbe } from "./probe.ts";

/** How often the driver is asked whether it is alive, and about its volumes. Times in milliseconds. */
export interface HealthOptions {
  /** Milliseconds between two probes of the driver; default 10,000. */
  probeMs: number;
  /** Milliseconds between reads of the conditions of all volumes; default 60,000. */
  volumesMs: number;
}

const reported = failpoint("sidecars/health/condition-reported");

/** Watches the driver, and reports volumes in a bad state to their users. */
export async function runHealth(
  context: SidecarContext,
  given: Partial<HealthOptions>,
  signal: AbortSignal,
): Promise<void> {
  const { probeMs, volumesMs } = { probeMs: 10_000, volumesMs: 60_000, ...given };
  const driver = new DriverProbe(context, signal);
  await Promise.all([
    every(probeMs, signal, () => driver.probe()),
    watchesVolumes(context) ? watchVolumes(context, volumesMs, signal) : undefined,
  ]);
}

function watchesVolumes({ driver }: SidecarContext): boolean {
  const { can } = driver.info;
  return can.has("VOLUME_CONDITION") && (can.has("GET_VOLUME") || can.has("LIST_VOLUMES"));
}

async function every(milliseconds: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await work();
    await delay(milliseconds, signal).catch(() => {});
  }
}

async function watchVolumes(context: SidecarContext, everyMs: number, signal: AbortSignal): Promise<void> {
  const { cluster, driver, logger } = context;
  await Promise.all([cluster.volumes, cluster.claims].map(({ informer }) => informer.synced(signal))).catch(
    () => {},
  );
  await every(everyMs, signal, async () => {
    try {
      const listed = driver.info.can.has("LIST_VOLUMES") ? await listConditions(context, signal) : undefined;
      for (const volume of cluster.volumes.byIndex("driver", driver.info.name)) {
        if (volume.status?.phase !== "Bound" || ifHere(context.here, volume) === undefined) continue;
        const condition = await conditionOf(context, volume, listed, signal);
        if (condition !== undefined) await report(context, volume, condition);
      }
    } catch (error) {
      if (!signal.aborted)
        logger.warn({ error: callFailure(error).message }, "cannot read volume conditions");
    }
  });
}

async function listConditions(
  { driver, timeoutMs }: SidecarContext,
  signal: AbortSignal,
): Promise<Map<string, Condition>> {
  const conditions = new Map<string, Condition>();
  for (const { volume, status } of await listVolumes(driver.client, { signal, timeoutMs })) {
    const { abnormal = false, message = "" } = status?.volumeCondition ?? {};
    if (volume !== undefined) conditions.set(volume.volumeId, { abnormal, message });
  }
  return conditions;
}

/** A list may be partial, so a volume that is missing from it is asked for by name before it counts as lost. */
async function conditionOf(
  { driver, timeoutMs }: SidecarContext,
  volume: PersistentVolume,
  listed: Map<string, Condition> | undefined,
  signal: AbortSignal,
): Promise<Condition | undefined> {
  const volumeId = volume.spec?.csi?.volumeHandle ?? "";
  const known = listed?.get(volumeId);
  if (known !== undefined || !driver.info.can.has("GET_VOLUME")) return known;
  try {
    const { status } = await driver.client.controller.controllerGetVolume(
      { volumeId },
      { signal, timeoutMs },
    );
    const { abnormal = false, message = "" } = status?.volumeCondition ?? {};
    return { abnormal, message };
  } catch (error) {
    if (callFailure(error).code !== Code.NOT_FOUND) return undefined;
    return { abnormal: true, message: "the driver does not know the volume any more" };
  }
}

async function report(
  { cluster, events, store }: SidecarContext,
  volume: PersistentVolume,
  condition: Condition,
): Promise<void> {
  const { name = "", namespace = "", uid } = volume.spec?.claimRef ?? {};
  const claim = cluster.claims.get(keyOf({ metadata: { name, namespace } }));
  if (claim?.metadata.uid !== uid || claim === undefined) return;
  const step = decideCondition(claim.metadata.annotations?.[VOLUME_CONDITION], condition);
  if (step.do === "none") return;
  const message = step.do === "report-abnormal" ? step.message : null;
  await patchMetadata(store, cluster.claims, claim, { annotations: { [VOLUME_CONDITION]: message } });
  reported();
  if (message === null) events.event(claim, "Normal", "VolumeConditionNormal", "The volume is healthy again");
  else events.event(claim, "Warning", "VolumeConditionAbnormal", message);
}
