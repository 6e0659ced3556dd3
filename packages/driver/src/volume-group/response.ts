import { type Pool, Pools, type Volume, type VolumeSet } from "@mooring/engine";
import type { DriverContext } from "../context.ts";
import { volumeResponse } from "../controller/responses.ts";
import { listObjects } from "../objects/find.ts";
import { membersOf } from "../objects/volume-sets.ts";
import { contextOf } from "./parameters.ts";

/** `VolumeGroup` of the specification, as of now. */
export async function groupResponse(driver: DriverContext, set: VolumeSet, signal: AbortSignal) {
  const volumes = await membersOf(driver, set, signal);
  const pools = volumes.length === 0 ? [] : await listObjects(driver.store, Pools, signal);
  const poolOf = new Map(pools.map((pool) => [pool.metadata.name, pool]));
  return groupOfVolumes(driver, set, volumes, poolOf);
}

/** A group as the add-ons' RPCs return it, with its volumes. */
export function groupOfVolumes(
  driver: DriverContext,
  set: VolumeSet,
  volumes: readonly Volume[],
  poolOf: ReadonlyMap<string, Pool>,
) {
  return {
    volumeGroupId: set.metadata.name,
    volumeGroupContext: contextOf(driver, set),
    volumes: volumes.map((volume) => volumeResponse(volume, poolOf.get(volume.spec.pool))),
  };
}
