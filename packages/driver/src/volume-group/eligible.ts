import { MAX_SET_MEMBERS, type Pool, Pools, type Volume, type VolumeSet } from "@mooring/engine";
import type { DriverContext } from "../context.ts";
import { findVolume, listObjects } from "../objects/find.ts";
import { isMember } from "../objects/volume-sets.ts";
import { otherGroupOf } from "./claim.ts";
import { goingAway, inAnother, type Refusal } from "./refusal.ts";

/** Why these volumes, each named once, cannot be the members of a group; empty: they can. Nothing is written. */
export async function refusalsOf(
  driver: DriverContext,
  set: VolumeSet,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<Refusal[]> {
  const { maxVolumes = MAX_SET_MEMBERS } = set.spec;
  if (ids.length > maxVolumes) return overflow(set, ids, maxVolumes);
  const found = await Promise.all(ids.map((id) => findVolume(driver.store, id, signal)));
  const pools = await listObjects(driver.store, Pools, signal);
  const poolOf = new Map(pools.map((pool) => [pool.metadata.name, pool]));
  const present = found.filter((volume) => volume !== undefined);
  const model = present.find((volume) => isMember(set, volume)) ?? present[0];
  const checked = found.map(async (volume, index): Promise<Refusal[]> => {
    const volumeId = ids[index] ?? "";
    if (volume === undefined) return [{ volumeId, reason: "VOLUME_NOT_FOUND", why: "does not exist" }];
    if (volume.metadata.deletionTimestamp !== undefined) return [goingAway(volumeId)];
    if (isMember(set, volume)) return [];
    const other = await otherGroupOf(driver.store, set.metadata.name, volume, signal);
    if (other !== undefined) return [inAnother(volumeId, other)];
    if (volume.status?.size === undefined) {
      return [{ volumeId, reason: "VOLUME_NOT_READY", why: "is still being made" }];
    }
    const why = incompatible(set, volume, model ?? volume, poolOf);
    return why === undefined ? [] : [{ volumeId, reason: "VOLUME_INCOMPATIBLE", why }];
  });
  return (await Promise.all(checked)).flat();
}

/** Of so many, members keep their places, and the first of the others get what is left. */
function overflow(set: VolumeSet, ids: readonly string[], most: number): Refusal[] {
  const rank = (id: string) => (set.spec.members.includes(id) ? 0 : 1);
  const ranked = [...ids].sort((a, b) => rank(a) - rank(b));
  const why = `is one too many: at most ${most} volumes fit in the group, not ${ids.length}`;
  return ranked.slice(most).map((volumeId) => ({ volumeId, reason: "TOO_MANY_VOLUMES", why }));
}

/**
 * A group is what can be snapshotted at one moment. Images of all pools go together, over nodes and file systems; a folder
 * that is in use cannot be kept still, so volumes of `directory` pools make groups of their own.
 */
function incompatible(
  { spec }: VolumeSet,
  volume: Volume,
  model: Volume,
  poolOf: ReadonlyMap<string, Pool>,
): string | undefined {
  const { pool } = volume.spec;
  if (spec.pool !== undefined && spec.pool !== pool) {
    return `is in pool "${pool}": the group is for volumes of pool "${spec.pool}"`;
  }
  const type = (name: string) => poolOf.get(name)?.spec.type;
  const isFolder = (name: string) => type(name) === "directory";
  if (isFolder(pool) === isFolder(model.spec.pool)) return undefined;
  const other = `"${model.spec.pool}" (${type(model.spec.pool)})`;
  return `is in pool "${pool}" (${type(pool)}), which cannot be snapshotted at one moment with pool ${other}`;
}
