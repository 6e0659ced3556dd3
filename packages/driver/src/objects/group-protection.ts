import { CsiError } from "@mooring/csi";
import { type Volume, type VolumeSet, VolumeSets } from "@mooring/engine";
import { isNotFound, mutate, type ObjectStore } from "@mooring/store";
import type { DriverContext } from "../context.ts";
import { findVolume } from "./find.ts";
import { findSet, isMember } from "./volume-sets.ts";

/** DeleteVolume of a member is FAILED_PRECONDITION: it has to leave its group first, or go with it. */
export async function requireNoGroup(
  driver: DriverContext,
  volume: Volume,
  signal: AbortSignal,
): Promise<void> {
  const set = await groupOf(driver, volume, signal);
  if (set === undefined) return;
  throw CsiError.failedPrecondition(
    `volume "${volume.metadata.name}" is in volume group "${set.metadata.name}" and cannot be deleted alone`,
    { hint: "Take it out of the group first (ModifyVolumeGroupMembership), or delete the group." },
  );
}

/**
 * For a call that is about to use a volume, and once more when that is written: the other side announces a group's
 * deletion, then reads the uses. One of the two sees the other. A deletion that is not decided yet is called off; after one
 * that is, the volume goes: NOT_FOUND. A volume that is about to join a group is left to join it: the call that deletes
 * that group then sees the use.
 */
export async function requireNotGoing(
  driver: DriverContext,
  volumeId: string,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const volume = await findVolume(driver.store, volumeId, signal);
    const name = volume?.spec.group?.name;
    const set = name === undefined ? undefined : await findSet(driver.store, name, signal);
    if (volume === undefined || set === undefined || !isMember(set, volume)) return;
    if (set.spec.deleted === true) {
      throw CsiError.notFound(
        `volume "${volumeId}" is being deleted with volume group "${set.metadata.name}"`,
      );
    }
    const { change } = set.spec;
    if (change === undefined || change.members !== undefined) return;
    if (await takeOut(driver.store, set, change.id, signal)) return;
  }
}

/**
 * The group that a volume is in. A change that is about to take the volume into a group is taken out of that group's
 * record: its process may be dead, and if it is not, its commit fails. So after this the volume is in no group, and
 * it gets into one only by a write of the volume itself.
 */
export async function groupOf(
  { store }: Pick<DriverContext, "store">,
  volume: Volume,
  signal: AbortSignal,
): Promise<VolumeSet | undefined> {
  const { name: id } = volume.metadata;
  for (;;) {
    const name = volume.spec.group?.name;
    const set = name === undefined ? undefined : await findSet(store, name, signal);
    if (set === undefined) return undefined;
    if (isMember(set, volume)) return set;
    const { change } = set.spec;
    if (change?.members?.includes(id) !== true) return undefined;
    // Committed meanwhile? Then it is a member after all.
    if (await takeOut(store, set, change.id, signal)) return undefined;
  }
}

/** Takes a change out of the record before it is committed. False: it is not there any more. */
export async function takeOut(
  store: ObjectStore,
  { metadata: { name, uid } }: VolumeSet,
  change: string,
  signal: AbortSignal,
): Promise<boolean> {
  let found = false;
  await mutate(
    store,
    VolumeSets,
    { name },
    {
      change: (now) => {
        found = now.metadata.uid === uid && now.spec.change?.id === change;
        if (found) delete now.spec.change;
      },
      signal,
    },
  ).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    found = false;
  });
  return found;
}
