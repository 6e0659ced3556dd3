import { type MetricFamily, type MetricSample, v1 } from "@mooring/csi";
import { type Pod, parseKey, withTimeLimit } from "@mooring/store";
import type { Drivers } from "../csi/drivers.ts";
import { type ClaimCaches, type CsiVolume, traceClaim } from "./csi-volume.ts";

const { VolumeUsage_Unit: Unit } = v1;

/** A scrape does not wait longer for a driver that does not answer; its volumes are left out. */
const LONGEST_MS = 5_000;

type Amount = "available" | "total" | "used";

/** Under the names and with the labels of upstream's kubelet, so that its dashboards and alerts fit. */
const FAMILIES: readonly [name: string, help: string, unit: v1.VolumeUsage_Unit, amount: Amount][] = [
  ["available_bytes", "Number of available bytes in the volume", Unit.BYTES, "available"],
  ["capacity_bytes", "Capacity in bytes of the volume", Unit.BYTES, "total"],
  ["used_bytes", "Number of used bytes in the volume", Unit.BYTES, "used"],
  ["inodes", "Maximum number of inodes in the volume", Unit.INODES, "total"],
  ["inodes_free", "Number of free inodes in the volume", Unit.INODES, "available"],
  ["inodes_used", "Number of used inodes in the volume", Unit.INODES, "used"],
];

/** Whose volumes are measured, and by whom. */
export interface UsageSources {
  /** The pods of this node. */
  pods: readonly Pod[];
  view: ClaimCaches;
  drivers: Drivers;
  /** Where a volume is for a pod; undefined while it is not there. */
  pathOf(podUID: string, volume: CsiVolume): string | undefined;
}

interface Measured {
  labels: { namespace: string; persistentvolumeclaim: string };
  usage: readonly v1.VolumeUsage[];
}

/** What the claims have, and have left, that pods of this node use now: `kubelet_volume_stats_*`. */
export async function usageMetrics(sources: UsageSources, signal: AbortSignal): Promise<MetricFamily[]> {
  const until = withTimeLimit(LONGEST_MS, signal);
  const found = await Promise.all(inUse(sources).map((each) => measure(sources.drivers, each, until)));
  const measured = found.filter((each) => each !== undefined);
  return FAMILIES.map(([name, help, unit, amount]) => ({
    ...{ name: `kubelet_volume_stats_${name}`, help, type: "gauge" },
    samples: measured.flatMap(({ labels, usage }): MetricSample[] => {
      const value = usage.find((each) => each.unit === unit)?.[amount];
      return value === undefined ? [] : [{ labels, value: Number(value) }];
    }),
  }));
}

/** Each claim once, however many pods use it. */
function inUse({ pods, view, pathOf }: UsageSources): { volume: CsiVolume; path: string }[] {
  const byClaim = new Map<string, { volume: CsiVolume; path: string }>();
  for (const pod of pods) {
    for (const podVolume of pod.spec?.volumes ?? []) {
      const volume = traceClaim(view, pod, podVolume);
      if (volume === undefined || "problem" in volume) continue;
      const path = pathOf(pod.metadata.uid ?? "", volume);
      if (path !== undefined) byClaim.set(volume.claim, { volume, path });
    }
  }
  return [...byClaim.values()];
}

async function measure(
  drivers: Drivers,
  { volume, path }: { volume: CsiVolume; path: string },
  signal: AbortSignal,
): Promise<Measured | undefined> {
  try {
    const { client, measures } = await drivers.get(volume.driver, signal);
    if (!measures) return undefined;
    const request = { volumeId: volume.handle, volumePath: path };
    const { usage } = await client.node.nodeGetVolumeStats(request, { signal });
    const { namespace = "", name } = parseKey(volume.claim);
    return { labels: { namespace, persistentvolumeclaim: name }, usage };
  } catch {
    // It may have been let go meanwhile; a gap in the figures is what upstream's kubelet leaves as well.
    return undefined;
  }
}
