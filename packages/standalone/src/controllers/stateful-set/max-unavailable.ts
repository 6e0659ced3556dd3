import type { StatefulSet } from "@mooring/store";

/** How many pods of a set a rolling update may let be missing: shares are rounded down, and it is at least 1. */
export function maxUnavailableOf({ spec }: StatefulSet): number {
  const { maxUnavailable = 1 } = spec?.updateStrategy?.rollingUpdate ?? {};
  const pods =
    typeof maxUnavailable === "number"
      ? maxUnavailable
      : Math.floor((Number.parseInt(maxUnavailable, 10) * (spec?.replicas ?? 1)) / 100);
  return Math.max(1, pods);
}
