import { getIfAny, type Reader } from "@mooring/store";
import { Volumes } from "../../../api/volume.ts";
import type { CloneView } from "./decide.ts";

/** Reads a volume that is made from another, and that one; undefined for all others. */
export async function readClone(
  store: Reader["store"],
  name: string,
  signal: AbortSignal,
): Promise<CloneView | undefined> {
  const target = await getIfAny(store, Volumes, { name }, signal);
  const from = target?.spec.source;
  if (target === undefined || from?.kind !== "Volume") return undefined;
  // A copy that is made needs its source no more, and is not to be woken by it.
  const made = target.status?.size !== undefined;
  return { target, source: made ? undefined : await getIfAny(store, Volumes, { name: from.name }, signal) };
}
