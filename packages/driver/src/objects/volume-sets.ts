import { CsiError } from "@mooring/csi";
import { type Volume, type VolumeSet, VolumeSets } from "@mooring/engine";
import { getIfAny, isConflict, isNotFound, type ObjectStore } from "@mooring/store";
import type { DriverContext } from "../context.ts";
import { findVolume, isVolumeGroupId } from "./find.ts";

/** The record of a group, in whatever state. */
export async function findSet(
  store: ObjectStore,
  id: string,
  signal: AbortSignal,
): Promise<VolumeSet | undefined> {
  return isVolumeGroupId(id) ? getIfAny(store, VolumeSets, { name: id }, signal) : undefined;
}

/** False while it is being made or deleted: callers see nothing of it yet, or any more. */
export function isGroup({ spec }: VolumeSet): boolean {
  return spec.generation > 0 && spec.deleted !== true;
}

/** Throws NOT_FOUND for everything that is no group. */
export async function getGroup(store: ObjectStore, id: string, signal: AbortSignal): Promise<VolumeSet> {
  const set = await findSet(store, id, signal);
  if (set !== undefined && isGroup(set)) return set;
  throw CsiError.notFound(`volume group "${id}" does not exist`, {
    hint: "ListVolumeGroups lists all groups.",
  });
}

/** The record and the volume have to agree: a volume of the same name that was made anew is in no group. */
export function isMember({ metadata, spec }: VolumeSet, volume: Volume): boolean {
  return volume.spec.group?.name === metadata.name && spec.members.includes(volume.metadata.name);
}

/** The member volumes that there are, in the order of the record. */
export async function membersOf(
  { store }: Pick<DriverContext, "store">,
  set: VolumeSet,
  signal: AbortSignal,
): Promise<Volume[]> {
  const volumes = await Promise.all(set.spec.members.map((id) => findVolume(store, id, signal)));
  return volumes.filter((volume) => volume !== undefined).filter((volume) => isMember(set, volume));
}

/** Unless another client has changed it since it was read. */
export async function removeRecord(
  { store }: Pick<DriverContext, "store">,
  { metadata: { name, uid = "", resourceVersion = "" } }: VolumeSet,
  signal: AbortSignal,
): Promise<void> {
  try {
    await store.delete(VolumeSets, { name }, { signal, preconditions: { uid, resourceVersion } });
  } catch (error) {
    if (!isConflict(error) && !isNotFound(error)) throw error;
  }
}
