import { defined, getIfAny } from "@mooring/store";
import { GroupSnapshots } from "../../api/group-snapshot.ts";
import { ENGINE_FINALIZER } from "../../api/names.ts";
import { isShared } from "../../api/pool.ts";
import { type Snapshot, Snapshots } from "../../api/snapshot.ts";
import { type Volume, Volumes } from "../../api/volume.ts";
import { isImageId } from "../../pools/image-id.ts";
import type { ReadContext } from "../read-context.ts";
import { responsibilityIn } from "../volume/read.ts";
import { isResponsible } from "../volume/responsible-node.ts";
import type { SnapshotView } from "./decide.ts";

/** Undefined: the snapshot is gone, or another node's. */
export async function readSnapshot(context: ReadContext, name: string): Promise<SnapshotView | undefined> {
  const { store, nodeID, signal } = context;
  const snapshot = await getIfAny(store, Snapshots, { name }, signal);
  if (snapshot === undefined) return undefined;
  const shared = isShared(context.poolObjects.get(snapshot.spec.pool));
  const open = context.pools.get(snapshot.spec.pool);
  const file = isImageId(name) ? await open?.backend.find(name) : undefined;
  // All nodes see the file: no agent has anything to do, wherever the volume goes.
  const isThere = file !== undefined && file.size >= (snapshot.status?.restoreSize ?? 0);
  if (shared && isThere && isWhole(snapshot)) return undefined;
  const deleting = snapshot.metadata.deletionTimestamp !== undefined;
  const needsVolume = shared || deleting || snapshot.status?.creationTime === undefined;
  const volume = needsVolume
    ? await getIfAny(store, Volumes, { name: snapshot.spec.volume }, signal)
    : undefined;
  if (!isOurs(context, snapshot, volume)) return undefined;
  const image =
    file === undefined || open === undefined
      ? undefined
      : { size: file.size, createdAt: await open.backend.madeAt(file) };
  const group = await groupOf(context, snapshot);
  const now = context.host.clock.now();
  return { snapshot, nodeID, poolOpen: open !== undefined, image, volume, group, now };
}

function isWhole({ metadata, status }: Snapshot): boolean {
  const protectedByUs = metadata.finalizers?.includes(ENGINE_FINALIZER) === true;
  const going = metadata.deletionTimestamp !== undefined;
  return protectedByUs && !going && status?.readyToUse === true && status.error === undefined;
}

async function groupOf(
  { store, sessions, signal }: ReadContext,
  { spec: { group: name } }: Snapshot,
): Promise<SnapshotView["group"]> {
  if (name === undefined) return undefined;
  // Asked first: a session that begins later sees that the group is on its way out.
  const underWay = sessions.has(name);
  const group = await getIfAny(store, GroupSnapshots, { name }, signal);
  const { state, creationTime } = group?.status ?? {};
  const going = group === undefined || group.metadata.deletionTimestamp !== undefined || state === "failing";
  return { underWay, going, ...defined({ creationTime }) };
}

/** In a shared pool the node that has the source copies it, because a file system in use is frozen for it. */
function isOurs(context: ReadContext, snapshot: Snapshot, volume: Volume | undefined): boolean {
  const { poolObjects, nodeID } = context;
  const pool = poolObjects.get(snapshot.spec.pool);
  if (pool === undefined || !isShared(pool)) {
    return (pool?.spec.nodeID ?? snapshot.status?.ownerID) === nodeID;
  }
  return isResponsible(responsibilityIn(context, pool, volume ?? { spec: {} }));
}
