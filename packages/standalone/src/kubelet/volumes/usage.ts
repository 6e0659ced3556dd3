import { v1 } from "@mooring/csi";
import { type Pod, parseKey, within } from "@mooring/store";
import type { Drivers } from "../csi/drivers.ts";
import { type ClaimCaches, type CsiVolume, traceClaim } from "./csi-volume.ts";

const { VolumeUsage_Unit: Unit } = v1;

/** A scrape does not wait longer for a driver that does not respond; its volumes are left out. */
const LONGEST_MS = 5_000;

/** What is measured, under the names that upstream's kubelet has for it, and where it is in a driver's response. */
const AMOUNTS = {
  available_bytes: [Unit.BYTES, "available"],
  capacity_bytes: [Unit.BYTES, "total"],
  used_bytes: [Unit.BYTES, "used"],
  inodes: [Unit.INODES, "total"],
  inodes_free: [Unit.INODES, "available"],
  inodes_used: [Unit.INODES, "used"],
} as const;

/** See {@link AMOUNTS}: bytes, or a number of inodes. */
export type AmountName = keyof typeof AMOUNTS;
/** All of {@link AmountName}. */
export const AMOUNT_NAMES = Object.keys(AMOUNTS) as readonly AmountName[];

/** What a claim has, and has left, on one node. A raw volume has no inodes. */
export interface ClaimUsage {
  namespace: string;
  claim: string;
  amounts: Readonly<Partial<Record<AmountName, number>>>;
}

/** The pods whose volumes are measured, and the drivers that measure them. */
export interface UsageSources {
  /** The pods of this node. */
  pods: readonly Pod[];
  view: ClaimCaches;
  drivers: Drivers;
  /** Where a volume is for a pod; undefined while it is not there. */
  pathOf(podUID: string, volume: CsiVolume): string | undefined;
}

/** What the claims have, and have left, that pods of this node use now. */
export async function measureClaims(sources: UsageSources, signal: AbortSignal): Promise<ClaimUsage[]> {
  const found = await within(LONGEST_MS, signal, (until) =>
    Promise.all(inUse(sources).map((each) => measure(sources.drivers, each, until))),
  );
  return found.filter((each) => each !== undefined);
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
): Promise<ClaimUsage | undefined> {
  try {
    const { client, measures } = await drivers.get(volume.driver, signal);
    if (!measures) return undefined;
    const request = { volumeId: volume.handle, volumePath: path };
    const { usage } = await client.node.nodeGetVolumeStats(request, { signal });
    const { namespace = "", name } = parseKey(volume.claim);
    return { namespace, claim: name, amounts: amountsOf(usage) };
  } catch {
    // It may have been released meanwhile; a hole in the figures is what upstream's kubelet leaves as well.
    return undefined;
  }
}

function amountsOf(usage: readonly v1.VolumeUsage[]): ClaimUsage["amounts"] {
  const amounts: Partial<Record<AmountName, number>> = {};
  for (const name of AMOUNT_NAMES) {
    const [unit, part] = AMOUNTS[name];
    const found = usage.find((each) => each.unit === unit);
    if (found !== undefined) amounts[name] = Number(found[part]);
  }
  return amounts;
}
