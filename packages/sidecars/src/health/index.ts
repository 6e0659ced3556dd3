import { delay } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { ifHere } from "../common/here.ts";
import { callFailure } from "../csi/codes.ts";
import { reportCondition } from "./apply.ts";
import { DriverProbe } from "./probe.ts";
import { conditionOf, listConditions } from "./read.ts";

/** How often the driver is asked whether it is alive, and about its volumes. Times in milliseconds. */
export interface HealthOptions {
  /** Milliseconds between two probes of the driver; default 10,000. */
  probeMs: number;
  /** Milliseconds between reads of the conditions of all volumes; default 60,000. */
  volumesMs: number;
}

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
        if (condition !== undefined) await reportCondition(context, volume, condition);
      }
    } catch (error) {
      if (!signal.aborted)
        logger.warn({ error: callFailure(error).message }, "cannot read volume conditions");
    }
  });
}
