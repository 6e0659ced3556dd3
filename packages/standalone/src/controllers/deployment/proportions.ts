import type { ReplicaSet } from "@mooring/store";
import { type Limits, sum, wantedOf } from "./limits.ts";
import type { Scale } from "./scale.ts";

/** On a ReplicaSet: how many pods its Deployment was to have, and could have, when the set got its size. */
export const DESIRED = "deployment.kubernetes.io/desired-replicas";
export const MAX = "deployment.kubernetes.io/max-replicas";

/**
 * The next change of sets whose Deployment was given another number of replicas while several of them have pods; undefined
 * when all have followed. Each gets its share of the difference, and the largest what is left over. One set changes at a
 * time, the smallest first: those that have followed have the new number on them, and the shares of the others stay the same.
 * Upstream: scale in deployment/sync.go.
 */
export function shareOut(
  sets: readonly ReplicaSet[],
  limits: Limits,
  statusReplicas: number,
): Scale | undefined {
  const active = sets.filter((set) => wantedOf(set) > 0);
  const pending = active.filter((set) => hasToFollow(set, limits));
  const most = limits.replicas > 0 ? limits.replicas + limits.maxSurge : 0;
  if (pending.length === 0 || (active.length < 2 && most > 0)) return undefined;
  const difference = most - sum(active.map(wantedOf));
  const ordered = inOrder(pending, difference);
  let left = difference;
  const shares = ordered.map((set) => {
    const share = within(shareOf(set, most, statusReplicas), left);
    left -= share;
    return share;
  });
  const last = ordered.length - 1;
  const set = ordered[last];
  if (set === undefined) return undefined;
  const share = (shares[last] ?? 0) + (last === 0 ? left : 0);
  return { set, replicas: Math.max(0, wantedOf(set) + share) };
}

function hasToFollow(set: ReplicaSet, { replicas }: Limits): boolean {
  const desired = numberOn(set, DESIRED);
  return desired !== undefined && desired !== replicas;
}

/** The largest first; among equals the newest where there is more to come, else the oldest. The oldest set comes first here. */
function inOrder(sets: readonly ReplicaSet[], difference: number): ReplicaSet[] {
  const byAge = difference > 0 ? [...sets].reverse() : [...sets];
  return byAge.sort((a, b) => wantedOf(b) - wantedOf(a));
}

/** By how much a set changes so that it has the same part of all pods as before. */
function shareOf(set: ReplicaSet, most: number, statusReplicas: number): number {
  const before = numberOn(set, MAX) ?? statusReplicas;
  const wanted = wantedOf(set);
  if (most === 0) return -wanted;
  return before === 0 ? 0 : Math.round((wanted * most) / before) - wanted;
}

/** In the direction of what is left, and no more than that. */
function within(share: number, left: number): number {
  return left > 0 ? Math.max(0, Math.min(share, left)) : Math.min(0, Math.max(share, left));
}

function numberOn({ metadata }: ReplicaSet, annotation: string): number | undefined {
  const text = metadata.annotations?.[annotation];
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
