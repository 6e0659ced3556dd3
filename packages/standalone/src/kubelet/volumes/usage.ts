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

/** 1: the driver reports that the volume is in an abnormal condition; 0: that it is not. */
const ABNORMAL = "health_status_abnormal";

type MeasuredName = keyof typeof AMOUNTS;
/** See {@link AMOUNTS}: bytes, or a number of inodes; and {@link ABNORMAL}. */
export type AmountName = MeasuredName | typeof ABNORMAL;
const MEASURED = Object.keys(AMOUNTS) as readonly MeasuredName[];
/** All of {@link AmountName}. */
export const AMOUNT_NAMES: readonly AmountName[] = [...MEASURED, ABNORMAL];

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
    Promise.all(claimsInUse(sources).map((each) => measure(sources.drivers, each, until))),
  );
  return found.filter((each) => each !== undefined);
}

/** A claim, where one of its pods has its volume, and which of their volumes it is. */
export interface ClaimInUse {
  volume: CsiVolume;
  path: string;
  users: { pod: Pod; name: string }[];
}

/** Each claim once, however many pods use it. */
export function claimsInUse({ pods, view, pathOf }: UsageSources): ClaimInUse[] {
  const byClaim = new Map<string, ClaimInUse>();
  for (const pod of pods) {
    for (const podVolume of pod.spec?.volumes ?? []) {
      const volume = traceClaim(view, pod, podVolume);
      if (volume === undefined || "problem" in volume) continue;
      const path = pathOf(pod.metadata.uid ?? "", volume);
      if (path === undefined) continue;
      const users = [...(byClaim.get(volume.claim)?.users ?? []), { pod, name: volume.name }];
      byClaim.set(volume.claim, { volume, path, users });
    }
  }
  return [...byClaim.values()];
}

/** NodeGetVolumeStats; undefined where the driver has none of it. */
export async function statsOf(
  drivers: Drivers,
  { volume, path }: Pick<ClaimInUse, "volume" | "path">,
  signal: AbortSignal,
): Promise<v1.NodeGetVolumeStatsResponse | undefined> {
  const { client, measures } = await drivers.get(volume.driver, signal);
  if (!measures) return undefined;
  return client.node.nodeGetVolumeStats({ volumeId: volume.handle, volumePath: path }, { signal });
}

async function measure(
  drivers: Drivers,
  used: ClaimInUse,
  signal: AbortSignal,
): Promise<ClaimUsage | undefined> {
  try {
    const stats = await statsOf(drivers, used, signal);
    const { namespace = "", name } = parseKey(used.volume.claim);
    return stats && { namespace, claim: name, amounts: amountsOf(stats) };
  } catch {
    // It may have been released meanwhile; a hole in the figures is what upstream's kubelet leaves as well.
    return undefined;
  }
}

function amountsOf({ usage, volumeCondition }: v1.NodeGetVolumeStatsResponse): ClaimUsage["amounts"] {
  const amounts: Partial<Record<AmountName, number>> = {};
  if (volumeCondition !== undefined) amounts[ABNORMAL] = volumeCondition.abnormal ? 1 : 0;
  for (const name of MEASURED) {
    const [unit, part] = AMOUNTS[name];
    const found = usage.find((each) => each.unit === unit);
    if (found !== undefined) amounts[name] = Number(found[part]);
  }
  return amounts;
}
