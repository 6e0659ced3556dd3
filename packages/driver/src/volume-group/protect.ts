import { CsiError } from "@mooring/csi";
import type { Volume } from "@mooring/engine";
import type { DriverContext } from "../context.ts";
import { findVolume } from "../objects/find.ts";
import { groupOf, takeOut } from "./claim.ts";
import { findSet, isMember } from "./objects.ts";

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
 * For whoever is about to use a volume, and once more when that is written: the other side announces a group's deletion, then reads the uses.
 * One of the two sees the other. A deletion that is not decided yet is called off; after one that is, the volume goes:
 * NOT_FOUND. A volume that is about to join a group is left to join it: whoever deletes that group then sees the use.
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
