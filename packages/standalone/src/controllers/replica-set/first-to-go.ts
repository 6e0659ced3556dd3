import type { Pod } from "@mooring/store";
import { isReady } from "../workloads/pods.ts";

const COST = "controller.kubernetes.io/pod-deletion-cost";
const PHASES = ["Pending", "Unknown", "Running"];

/** Smaller goes first; upstream's order: ActivePodsWithRanks. */
function ranks(pod: Pod): number[] {
  const cost = Number(pod.metadata.annotations?.[COST] ?? 0);
  const ready = pod.status?.conditions?.find(({ type }) => type === "Ready");
  const restarts = (pod.status?.containerStatuses ?? []).map(({ restartCount }) => restartCount);
  return [
    pod.spec?.nodeName ? 1 : 0,
    Math.max(0, PHASES.indexOf(pod.status?.phase ?? "")),
    isReady(pod) ? 1 : 0,
    Number.isSafeInteger(cost) ? cost : 0,
    // What has been ready for long stays.
    -(Date.parse(String(ready?.lastTransitionTime ?? "")) || 0),
    -Math.max(0, ...restarts),
    -(Date.parse(String(pod.metadata.creationTimestamp ?? "")) || 0),
  ];
}

/** The pods in the order in which a set that has too many deletes them. */
export function firstToGo(pods: readonly Pod[]): Pod[] {
  const ranked = pods.map((pod) => ({ pod, ranks: ranks(pod) }));
  ranked.sort((a, b) => {
    const at = a.ranks.findIndex((rank, i) => rank !== b.ranks[i]);
    return at < 0 ? 0 : (a.ranks[at] ?? 0) - (b.ranks[at] ?? 0);
  });
  return ranked.map(({ pod }) => pod);
}
