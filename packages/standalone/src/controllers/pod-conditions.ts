import type { Pod } from "@mooring/store";

/** A condition of a pod. */
export type PodCondition = NonNullable<NonNullable<Pod["status"]>["conditions"]>[number];

/** The list with this condition in it; its transition time changes only with its status. */
export function withCondition(
  conditions: readonly PodCondition[],
  condition: Omit<PodCondition, "lastTransitionTime" | "lastProbeTime">,
  now: string,
): PodCondition[] {
  const old = conditions.find(({ type }) => type === condition.type);
  const since = old?.status === condition.status ? (old.lastTransitionTime ?? now) : now;
  const next = { ...condition, lastTransitionTime: since };
  return old === undefined
    ? [...conditions, next]
    : conditions.map((each) => (each.type === condition.type ? next : each));
}
