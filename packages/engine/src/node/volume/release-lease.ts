import { getIfAny } from "@mooring/store";
import { Volumes } from "../../api/volume.ts";
import type { LoopDevice } from "../../host/host.ts";
import type { AgentContext } from "../context.ts";
import type { OpenPool } from "../open-pools.ts";

/**
 * The end of a round with a shared pool's volume: a lease that the record does not need any more goes back, one
 * without a record goes away, and a device that a lost lease has left behind goes away with its last user.
 */
export async function releaseUnneeded(
  { store, nodeID, host, pools, sharing, signal }: AgentContext,
  name: string,
): Promise<void> {
  if (sharing === undefined) return;
  const { leases } = sharing;
  if (sharing.pools.size === 0) return;
  const volume = await getIfAny(store, Volumes, { name }, signal);
  if (volume?.status?.ownerID === nodeID) return;
  // What it has open belongs to a migration, whose steps end it.
  if (volume?.spec.migrationNodeID === nodeID || volume?.status?.currentMigrationNodeID === nodeID) return;
  // It is wanted here and it is here: another owner was written by hand, and the next round corrects that.
  if (volume?.spec.nodeID === nodeID && leases.holds(name)) return;
  const pool = volume === undefined ? undefined : pools.get(volume.spec.pool);
  if (volume !== undefined && pool?.layout.several !== true) return;
  if (pool !== undefined) {
    const path = `${pool.layout.images}/${name}.img`;
    // By its path, which only this node has: the file below that name may be another one by now. Where the container that
    // opened it has ended, the path says nothing any more.
    const loops = [...(await host.loops.list(path)), ...(await leases.left(name))];
    for (const loop of loops) await dropDevice(sharing, pool, name, loop);
  }
  if (volume === undefined) await leases.drop(name, signal);
  else await leases.release(name, signal);
}

/**
 * A device that shows nothing of the image any more goes away with its last user. One that nothing could fence here is fenced
 * first. Where others have replaced its file its users would go on writing into one without a name; where a storage cluster
 * refuses its client this node would give it to the next user, while the last one still has it.
 */
export async function dropDevice(
  sharing: AgentContext["sharing"],
  { backend, layout }: OpenPool,
  name: string,
  loop: LoopDevice,
): Promise<void> {
  const isStale = loop.deleted === true || layout.remote === true;
  if (isStale && loop.fenced !== true) await sharing?.leases.fence(name, loop);
  await backend.devices.detach(loop, { lastUser: true });
}
