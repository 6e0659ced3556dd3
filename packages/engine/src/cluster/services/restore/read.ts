import { getIfAny, type Reader } from "@mooring/store";
import { Snapshots } from "../../../api/snapshot.ts";
import { Volumes } from "../../../api/volume.ts";
import type { ServicesContext } from "../context.ts";
import type { RestoreView } from "./decide.ts";

/** Reads a volume, and the snapshot that it is to go back to. */
export async function readRestore(
  { now, signal }: ServicesContext,
  store: Reader["store"],
  key: string,
): Promise<RestoreView | undefined> {
  const volume = await getIfAny(store, Volumes, { name: key }, signal);
  if (volume === undefined) return undefined;
  const name = volume.spec.restoreFrom?.snapshot;
  const snapshot = name === undefined ? undefined : await getIfAny(store, Snapshots, { name }, signal);
  return { volume, snapshot, now: now() };
}
