import { randomUUID } from "node:crypto";
import { type CallContext, Code, CsiError, type volumegroup } from "@mooring/csi";
import { type Volume, type VolumeSet, VolumeSets } from "@mooring/engine";
import { defined, failpoint, listAll } from "@mooring/store";
import type { DriverContext } from "../context.ts";
import { removeVolume, untilUnused } from "../controller/delete-volume.ts";
import { takeOut } from "../objects/group-protection.ts";
import { findSet, membersOf, removeRecord } from "../objects/volume-sets.ts";
import { announce, commit } from "./change.ts";
import { deletesVolumes } from "./parameters.ts";
import { type Refusal, refused } from "./refusal.ts";

const decided = failpoint("driver/delete-volume-group/deletion-decided");
const emptied = failpoint("driver/delete-volume-group/volumes-deleted");

/**
 * DeleteVolumeGroup: the group and its volumes, or, where it is one that deletes no volumes, only an empty group. What
 * is decided by one write of the record is carried out, also after a kill: by a repeat, or by the next start.
 */
export async function deleteGroup(
  driver: DriverContext,
  { volumeGroupId }: volumegroup.DeleteVolumeGroupRequest,
  { signal }: CallContext,
) {
  const set = await findSet(driver.store, volumeGroupId, signal);
  if (set === undefined) return {};
  await carryOut(driver, set.spec.deleted === true ? set : await decide(driver, set, signal), signal);
  return {};
}

/** Throws FAILED_PRECONDITION, and the group is as it was, when one of its volumes is in use. */
async function decide(driver: DriverContext, set: VolumeSet, signal: AbortSignal): Promise<VolumeSet> {
  const { store } = driver;
  const { name } = set.metadata;
  const volumes = await membersOf(driver, set, signal);
  const ids = set.spec.members;
  const keep = `volume group "${name}" is kept`;
  if (volumes.length > 0 && !deletesVolumes(driver, set.spec)) {
    const why = "is still in it, and this group never deletes its volumes";
    const left = volumes.map(
      ({ metadata }): Refusal => ({
        ...{ volumeId: metadata.name, reason: "VOLUME_NOT_DELETED", why },
      }),
    );
    throw refused(keep, "modify", left, ids);
  }
  const change = { id: randomUUID() };
  await announce(store, set, change, signal);
  try {
    // From here on, a call that begins to use a member takes the announcement out: see requireNotGoing.
    const refusals = await Promise.all(volumes.map((volume) => whyInUse(driver, volume, signal)));
    const inUse = refusals.filter((refusal) => refusal !== undefined);
    if (inUse.length > 0) throw refused(keep, "modify", inUse, ids);
    const gone = await commit(store, set, { change: change.id, outcome: { deleted: true } }, signal);
    decided();
    return gone;
  } catch (error) {
    await takeOut(store, set, change.id, signal);
    throw error;
  }
}

async function whyInUse(
  driver: DriverContext,
  { metadata: { name: volumeId } }: Volume,
  signal: AbortSignal,
): Promise<Refusal | undefined> {
  try {
    await untilUnused(driver, volumeId, signal);
    return undefined;
  } catch (error) {
    if (!(error instanceof CsiError) || error.code !== Code.FAILED_PRECONDITION) throw error;
    const why = error.message.replace(`volume "${volumeId}" `, "");
    return { volumeId, reason: "VOLUME_IN_USE", why };
  }
}

async function carryOut(driver: DriverContext, set: VolumeSet, signal: AbortSignal): Promise<void> {
  const volumes = await membersOf(driver, set, signal);
  const kept = volumes.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (driver.keepGroupVolumes && kept.length > 0) throw keptBack(set, kept);
  const removals = volumes.map((volume) => removeVolume(driver, volume, signal));
  await Promise.all(removals).catch((error: unknown) => {
    if (!(error instanceof CsiError) || error.code !== Code.FAILED_PRECONDITION) throw error;
    // Too late to refuse: it is under way, and goes on when the volume is free.
    throw CsiError.aborted(`volume group "${set.metadata.name}" is being deleted: ${error.message}`);
  });
  emptied();
  const now = await findSet(driver.store, set.metadata.name, signal);
  if (now !== undefined && now.metadata.uid === set.metadata.uid) await removeRecord(driver, now, signal);
}

/** It was decided by a driver that was started otherwise. An operator who has set `keep` since then loses nothing. */
function keptBack({ metadata }: VolumeSet, volumes: readonly Volume[]): CsiError {
  const names = volumes.map((volume) => volume.metadata.name).join(", ");
  return CsiError.failedPrecondition(
    `volume group "${metadata.name}" is being deleted, but this driver keeps the volumes of groups: ${names}`,
    { hint: "Start the driver with --group-volumes delete to end the deletion." },
  );
}

/** Groups that are settled at once. */
const SETTLED_AT_ONCE = 16;

/**
 * What a kill left behind, when no caller comes again: deletions that were decided, and, where no other process has the
 * store, groups that were never made. Never throws.
 */
export async function settleGroups(driver: DriverContext, signal: AbortSignal): Promise<void> {
  const warn = (err: unknown, volumeGroupId?: string): void => {
    const which = defined({ volumeGroupId });
    if (!signal.aborted)
      driver.logger.warn({ err, ...which }, "cannot finish what was begun on a volume group");
  };
  try {
    const { items } = await listAll(driver.store, VolumeSets, { signal });
    const queue = items.values();
    const work = async (): Promise<void> => {
      for (const set of queue) {
        // One that cannot be finished blocks no other.
        await settle(driver, set, signal).catch((error: unknown) => warn(error, set.metadata.name));
      }
    };
    await Promise.all(Array.from({ length: SETTLED_AT_ONCE }, work));
  } catch (error) {
    warn(error);
  }
}

async function settle(driver: DriverContext, set: VolumeSet, signal: AbortSignal): Promise<void> {
  if (set.spec.deleted === true) await carryOut(driver, set, signal);
  else if (set.spec.generation === 0 && driver.alone) await removeRecord(driver, set, signal);
}
