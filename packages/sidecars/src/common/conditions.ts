import type { PersistentVolumeClaim } from "@mooring/store";

/** A condition of a claim. */
type ClaimCondition = NonNullable<NonNullable<PersistentVolumeClaim["status"]>["conditions"]>[number];

/**
 * A claim's conditions after a step of a controller that owns the `types`: its new one instead of all of them, with
 * its old times when it is the same as before. Conditions of others stay; `now` is RFC 3339.
 */
export function withCondition(
  { status }: PersistentVolumeClaim,
  types: ReadonlySet<string>,
  condition: { type: string; message: string } | undefined,
  now: string,
): ClaimCondition[] {
  const before = status?.conditions ?? [];
  const others = before.filter(({ type }) => !types.has(type));
  if (condition === undefined) return others;
  const known = before.find(
    ({ type, message = "" }) => type === condition.type && message === condition.message,
  );
  const fresh = { ...condition, status: "True", lastTransitionTime: now, lastProbeTime: now } as const;
  return [...others, known ?? fresh];
}
