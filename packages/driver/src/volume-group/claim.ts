import { type Volume, Volumes } from "@mooring/engine";
import { delay, failpoint, isConflict, isNotFound, type ObjectStore } from "@mooring/store";
import type { DriverContext } from "../context.ts";
import { findVolume } from "../objects/find.ts";
import { groupOf } from "../objects/group-protection.ts";
import { findSet, isMember } from "../objects/volume-sets.ts";
import { goingAway, inAnother, overtaken, type Refusal } from "./refusal.ts";

const RETRY_MS = 5;

const claimed = failpoint("driver/volume-group/volume-claimed");
const released = failpoint("driver/volume-group/volume-released");

/** Name of the group that a volume is in, when it is not this one. */
export async function otherGroupOf(
  store: ObjectStore,
  own: string,
  volume: Volume,
  signal: AbortSignal,
): Promise<string | undefined> {
  const name = volume.spec.group?.name;
  if (name === undefined || name === own) return undefined;
  const set = await findSet(store, name, signal);
  return set !== undefined && isMember(set, volume) ? name : undefined;
}

/**
 * Makes a volume this change's, so that no other group gets it. Always a write, also where an earlier attempt of the
 * same group left its mark: a change that has read that one finds the volume changed.
 */
export async function claimVolume(
  driver: DriverContext,
  { own, change }: { own: string; change: string },
  volumeId: string,
  signal: AbortSignal,
): Promise<Refusal | undefined> {
  for (;;) {
    const volume = await findVolume(driver.store, volumeId, signal);
    if (volume === undefined || volume.metadata.deletionTimestamp !== undefined) return goingAway(volumeId);
    if (volume.spec.group?.name !== own) {
      // Of two changes that want the same volumes one is taken out: a change that is out already takes no other out.
      if (volume.spec.group !== undefined) await requireAnnounced(driver.store, { own, change }, signal);
      const other = await groupOf(driver, volume, signal);
      if (other !== undefined) return inAnother(volumeId, other.metadata.name);
    }
    const spec = { ...volume.spec, group: { name: own, change } };
    if (await write(driver.store, { ...volume, spec }, signal)) break;
    await delay(RETRY_MS, signal);
  }
  claimed();
  return undefined;
}

async function requireAnnounced(
  store: ObjectStore,
  { own, change }: { own: string; change: string },
  signal: AbortSignal,
): Promise<void> {
  const set = await findSet(store, own, signal);
  if (set?.spec.change?.id !== change) throw overtaken(own);
}

/**
 * Takes the mark that an attempt left off a volume that is not in the group. Only for tidiness: a mark without a member
 * means nothing.
 */
export async function releaseVolume(
  store: ObjectStore,
  { own, change }: { own: string; change: string },
  volumeId: string,
  signal: AbortSignal,
): Promise<void> {
  const volume = await findVolume(store, volumeId, signal);
  if (volume?.spec.group?.name !== own || volume.spec.group.change !== change) return;
  const { group: _mark, ...spec } = volume.spec;
  // A change that wrote it meanwhile has read more.
  await write(store, { ...volume, spec }, signal);
  released();
}

/** False: another call wrote first. */
async function write(store: ObjectStore, volume: Volume, signal: AbortSignal): Promise<boolean> {
  try {
    await store.update(Volumes, volume, { signal });
    return true;
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return false;
    throw error;
  }
}
