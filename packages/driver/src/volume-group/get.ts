import type { CallContext, volumegroup } from "@mooring/csi";
import type { Volume } from "@mooring/engine";
import type { DriverContext } from "../context.ts";
import { positionOf } from "../objects/find.ts";
import { getGroup, isGroup, isMember } from "../objects/volume-sets.ts";
import { paginate } from "../paging/token.ts";
import { groupOfVolumes, groupResponse } from "./response.ts";

/** ControllerGetVolumeGroup. */
export async function getVolumeGroup(
  driver: DriverContext,
  { volumeGroupId }: volumegroup.ControllerGetVolumeGroupRequest,
  { signal }: CallContext,
) {
  const set = await getGroup(driver.store, volumeGroupId, signal);
  return { volumeGroup: await groupResponse(driver, set, signal) };
}

/**
 * ListVolumeGroups, in order of creation. A token is a place in that order: it stays good whatever is made or deleted
 * meanwhile, and after a restart.
 */
export async function listGroups(
  driver: DriverContext,
  request: volumegroup.ListVolumeGroupsRequest,
  { signal }: CallContext,
) {
  const page = paginate((await driver.lists.sets.get(signal)).filter(isGroup), positionOf, request);
  const [volumes, pools] = await Promise.all([
    driver.lists.volumes.get(signal),
    driver.lists.pools.get(signal),
  ]);
  const wanted = new Set(page.items.flatMap(({ spec }) => spec.members));
  const named = (volume: Volume): [string, Volume] => [volume.metadata.name, volume];
  const volumeOf = new Map(volumes.filter(({ metadata }) => wanted.has(metadata.name)).map(named));
  const poolOf = new Map(pools.map((pool) => [pool.metadata.name, pool]));
  const entries = page.items.map((set) => {
    const listed = set.spec.members.flatMap((id) => volumeOf.get(id) ?? []);
    const members = listed.filter((volume) => isMember(set, volume));
    return { volumeGroup: groupOfVolumes(driver, set, members, poolOf) };
  });
  return { entries, nextToken: page.nextToken ?? "" };
}
