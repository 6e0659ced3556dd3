import type { VolumeGroupContent } from "../kube/volume-group.ts";
import type { GroupResult } from "./view.ts";

/** What an administrator has changed on the storage system, and we leave so. Volume handles, sorted. */
export interface Drift {
  missing: string[];
  extra: string[];
}

/** What of a recorded drift still is one. */
export function pruned(
  drift: Drift | undefined,
  desired: readonly string[],
  actual: ReadonlySet<string>,
): Drift {
  return {
    missing: (drift?.missing ?? []).filter((handle) => desired.includes(handle) && !actual.has(handle)),
    extra: (drift?.extra ?? []).filter((handle) => !desired.includes(handle) && actual.has(handle)),
  };
}

/** A group that was brought in is added to; what was in it before is taken out explicitly only. */
export function repairs({ spec }: VolumeGroupContent): boolean {
  return (spec.driftPolicy ?? (spec.source === undefined ? "Repair" : "Report")) === "Repair";
}

/**
 * What a response shows that we have not done: a volume that was in the group and is wanted is gone, or one is in it that
 * neither was nor is wanted. What we ourselves have done, and could not write down before a crash, is neither.
 */
export function driftIn(content: VolumeGroupContent, desired: readonly string[], result: GroupResult): Drift {
  const before = content.status?.volumeHandles ?? [];
  const actual = new Set(result.volumeHandles);
  const known = pruned(content.status?.drift, desired, actual);
  const missing = desired.filter((handle) => before.includes(handle) && !actual.has(handle));
  const extra = result.volumeHandles.filter(
    (handle) => !desired.includes(handle) && !before.includes(handle),
  );
  return {
    missing: [...new Set([...known.missing, ...missing])].sort(),
    extra: [...new Set([...known.extra, ...extra])].sort(),
  };
}

/** The storage system has just the volumes that it should have. */
export const isNone = ({ missing, extra }: Drift): boolean => missing.length + extra.length === 0;

/** As a sentence. */
export function driftMessage({ extra, missing }: Drift): string {
  const parts = [
    ...(missing.length === 0 ? [] : [`taken out: ${missing.join(", ")}`]),
    ...(extra.length === 0 ? [] : [`put in: ${extra.join(", ")}`]),
  ];
  return `the membership was changed on the storage system; ${parts.join("; ")}`;
}
