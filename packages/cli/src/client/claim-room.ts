import type { ObjectStore, RestStore } from "@mooring/store";
import { isStandalone } from "./is-standalone.ts";

/** A claim whose file system has no room, or no inode, left. */
export interface FullClaim {
  namespace: string;
  claim: string;
  why: string;
}

type Amounts = Record<string, number>;

/** Above this there is as good as nothing left; what is set aside for root is no room for a pod. */
const FULL = 0.99;

/** A command reads them once for all that it explains. */
const read = new WeakMap<object, { until: number; claims: Promise<FullClaim[]> }>();
const FRESH_MS = 2_000;

/**
 * Claims that pods use now and that are full, on every node of a standalone server. Others do not have the figures: there
 * they are in the metrics of each kubelet.
 */
export function fullClaims(store: ObjectStore): Promise<FullClaim[]> {
  const now = performance.now();
  const known = read.get(store);
  if (known !== undefined && now < known.until) return known.claims;
  const claims = readFull(store).catch(() => []);
  read.set(store, { until: now + FRESH_MS, claims });
  return claims;
}

async function readFull(store: ObjectStore): Promise<FullClaim[]> {
  if (!(await isStandalone(store))) return [];
  return fullIn(await (store as RestStore).getText("/metrics"));
}

/** What is full in a scrape. */
export function fullIn(metrics: string): FullClaim[] {
  const byClaim = new Map<string, Amounts>();
  for (const [, name = "", labels = "", value] of metrics.matchAll(
    /^kubelet_volume_stats_(\w+)\{(.*)\} (\S+)$/gm,
  )) {
    const label = (of: string) => new RegExp(`(?:^|,)${of}="([^"]*)"`).exec(labels)?.[1] ?? "";
    const key = `${label("namespace")}/${label("persistentvolumeclaim")}`;
    byClaim.set(key, { ...byClaim.get(key), [name]: Number(value) });
  }
  return [...byClaim].flatMap(([key, amounts]) => {
    const [namespace = "", claim = ""] = key.split("/");
    const why = fullness(amounts);
    return why === undefined ? [] : [{ namespace, claim, why }];
  });
}

function fullness(amounts: Amounts): string | undefined {
  const { available_bytes: left, used_bytes: used, inodes, inodes_free: free } = amounts;
  // Of a raw volume nothing is known but its size.
  if (left !== undefined && used !== undefined && used > 0 && used / (used + left) >= FULL)
    return "its file system is full";
  if (inodes !== undefined && inodes > 0 && free === 0)
    return "its file system is full: it has no inode left for another file";
  return undefined;
}
