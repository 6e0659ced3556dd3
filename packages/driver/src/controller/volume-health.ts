import type { CallContext, v1 } from "@mooring/csi";
import { NodeAgents } from "@mooring/engine";
import type { DriverContext } from "../context.ts";
import { readHealthInput } from "../health/read.ts";
import { volumeHealth } from "../health/response.ts";
import { neededNode, volumeProblems } from "../health/volume-problems.ts";
import { getVolume, listObjects, positionOf } from "../objects/find.ts";
import { paginate } from "../paging/token.ts";

/** ControllerGetVolumeHealth: what is known to be wrong with a volume; an empty list when nothing is. */
export async function getVolumeHealth(
  driver: DriverContext,
  { volumeId }: v1.ControllerGetVolumeHealthRequest,
  { signal }: CallContext,
) {
  const volume = await getVolume(driver.store, volumeId, signal);
  const problems = volumeProblems(await readHealthInput(driver.store, volume, signal));
  return { volumeHealth: volumeHealth(volumeId, problems) };
}

/** ControllerListVolumeHealth: the volumes with which something is wrong, in order of creation. */
export async function listVolumeHealth(
  driver: DriverContext,
  request: v1.ControllerListVolumeHealthRequest,
  { signal }: CallContext,
) {
  const [volumes, pools, agents] = await Promise.all([
    driver.lists.volumes.get(signal),
    driver.lists.pools.get(signal),
    listObjects(driver.store, NodeAgents, signal),
  ]);
  const poolOf = new Map(pools.map((pool) => [pool.metadata.name, pool]));
  const nodeOf = new Map(agents.map((agent) => [agent.metadata.name, agent]));
  const ill = volumes.flatMap((volume) => {
    // Never finished: it has not been returned to any caller yet.
    if (volume.status?.size === undefined) return [];
    const pool = poolOf.get(volume.spec.pool);
    const problems = volumeProblems({ volume, pool, node: nodeOf.get(neededNode(volume, pool) ?? "") });
    return problems.length === 0 ? [] : [{ volume, problems }];
  });
  const page = paginate(ill, ({ volume }) => positionOf(volume), request);
  return {
    entries: page.items.map(({ volume, problems }) => volumeHealth(volume.metadata.name, problems)),
    nextToken: page.nextToken ?? "",
  };
}
