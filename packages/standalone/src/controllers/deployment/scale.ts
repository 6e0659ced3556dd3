import type { ReplicaSet } from "@mooring/store";
import { availableOf, type Limits, sum, wantedOf } from "./limits.ts";

/** A set that is to have another number of pods. */
export interface Scale {
  set: ReplicaSet;
  replicas: number;
}

interface Rollout {
  current: ReplicaSet;
  /** The oldest first. */
  old: readonly ReplicaSet[];
  limits: Limits;
}

/**
 * The next change of a rolling update; undefined when none is allowed now. Upstream: rollingUpdate in
 * deployment/rolling.go.
 */
export function rollOn(rollout: Rollout): Scale | undefined {
  return growCurrent(rollout) ?? shrinkOld(rollout);
}

function growCurrent({ current, old, limits }: Rollout): Scale | undefined {
  const { replicas, maxSurge } = limits;
  const wanted = wantedOf(current);
  if (wanted === replicas) return undefined;
  if (wanted > replicas) return { set: current, replicas };
  const room = replicas + maxSurge - sum([...old, current].map(wantedOf));
  if (room <= 0) return undefined;
  return { set: current, replicas: Math.min(replicas, wanted + room) };
}

function shrinkOld({ current, old, limits }: Rollout): Scale | undefined {
  const least = limits.replicas - limits.maxUnavailable;
  const missing = wantedOf(current) - availableOf(current);
  const all = [...old, current];
  const most = sum(all.map(wantedOf)) - least - missing;
  if (most <= 0) return undefined;
  // Pods that do not serve go first: no client misses them.
  const broken = old.find((set) => availableOf(set) < wantedOf(set));
  if (broken !== undefined) {
    const wanted = wantedOf(broken);
    return { set: broken, replicas: wanted - Math.min(most, wanted - availableOf(broken)) };
  }
  const spare = Math.min(most, sum(all.map(availableOf)) - least);
  const oldest = old.find((set) => wantedOf(set) > 0);
  if (spare <= 0 || oldest === undefined) return undefined;
  return { set: oldest, replicas: wantedOf(oldest) - Math.min(spare, wantedOf(oldest)) };
}

/** While nothing rolls, the one set that has pods follows the Deployment's replicas; else the newest takes the difference. */
export function follow(sets: readonly ReplicaSet[], { replicas, maxSurge }: Limits): Scale | undefined {
  const active = sets.filter((set) => wantedOf(set) > 0);
  const newest = active.at(-1) ?? sets.at(-1);
  if (newest === undefined) return undefined;
  const total = sum(sets.map(wantedOf));
  const aim = active.length > 1 ? Math.min(Math.max(total, replicas), replicas + maxSurge) : replicas;
  const wanted = Math.max(0, wantedOf(newest) + aim - total);
  return wanted === wantedOf(newest) ? undefined : { set: newest, replicas: wanted };
}
