import type { Deployment, ReplicaSet } from "@mooring/store";

/** How far a rollout may go, in pods. */
export interface Limits {
  replicas: number;
  maxSurge: number;
  maxUnavailable: number;
}

/** Shares of the replicas: what may be missing is rounded down, what may be beyond them up; never both 0. */
export function limitsOf({ spec }: Deployment): Limits {
  const replicas = spec?.replicas ?? 1;
  if (spec?.strategy?.type === "Recreate") return { replicas, maxSurge: 0, maxUnavailable: replicas };
  const { maxSurge = "25%", maxUnavailable = "25%" } = spec?.strategy?.rollingUpdate ?? {};
  const surge = pods(maxSurge, replicas, Math.ceil);
  const unavailable = pods(maxUnavailable, replicas, Math.floor);
  return { replicas, maxSurge: surge, maxUnavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}

function pods(share: number | string, replicas: number, round: (value: number) => number): number {
  if (typeof share === "number") return share;
  return round((Number.parseInt(share, 10) * replicas) / 100);
}

/** What a set should have. */
export const wantedOf = (set: ReplicaSet | undefined): number =>
  set === undefined ? 0 : (set.spec?.replicas ?? 1);
/** What of it is available; a set that has just been made smaller may still say more. */
export const availableOf = (set: ReplicaSet): number =>
  Math.min(set.status?.availableReplicas ?? 0, wantedOf(set));
export const sum = (numbers: readonly number[]): number =>
  numbers.reduce((total, number) => total + number, 0);
