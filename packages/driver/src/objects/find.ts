import { CsiError } from "@mooring/csi";
import {
  type GroupSnapshot,
  GroupSnapshots,
  type NodeAgent,
  NodeAgents,
  type Pool,
  Pools,
  type Snapshot,
  Snapshots,
  type Volume,
  Volumes,
} from "@mooring/engine";
import { getIfAny, type KubeObject, listAll, type ObjectStore, type Resource } from "@mooring/store";
import type { Position } from "../paging/token.ts";

/** When the object was made, to the millisecond: the order of lists. */
export const CREATED_AT = "storage.mooring.dev/created-at";

function createdAt(object: KubeObject): string {
  return object.metadata.annotations?.[CREATED_AT] ?? object.metadata.creationTimestamp ?? "";
}

/** Its place in lists. */
export function positionOf(object: KubeObject): Position {
  return { createdAt: createdAt(object), name: object.metadata.name };
}

/** Every id that this driver hands out; anything else cannot name one of its objects. */
const VOLUME_ID = /^v-[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** Ours are `g-<uuid>`; operators may name group snapshots of their own. */
const GROUP_SNAPSHOT_ID = /^[a-z0-9](?:[-a-z0-9.]{0,126}[a-z0-9])?$/;
const VOLUME_GROUP_ID = /^vg-[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const SNAPSHOT_ID = /^s-[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** False for ids that no call of this driver ever returned; they are never used in a path or a key. */
export function isVolumeId(id: string): boolean {
  return VOLUME_ID.test(id);
}
/** False: no group snapshot can have this id, so the store is not asked. */
function isGroupSnapshotId(id: string): boolean {
  return GROUP_SNAPSHOT_ID.test(id);
}
/** False: no volume group can have this id, so the store is not asked. */
export function isVolumeGroupId(id: string): boolean {
  return VOLUME_GROUP_ID.test(id);
}
/** False: no snapshot can have this id, so the store is not asked. */
function isSnapshotId(id: string): boolean {
  return SNAPSHOT_ID.test(id);
}

/** Undefined: there is no such volume, or the id cannot be one of ours. */
export async function findVolume(
  store: ObjectStore,
  id: string,
  signal: AbortSignal,
): Promise<Volume | undefined> {
  return isVolumeId(id) ? getIfAny(store, Volumes, { name: id }, signal) : undefined;
}

/** As {@link findVolume}; throws NOT_FOUND when there is none. */
export async function getVolume(store: ObjectStore, id: string, signal: AbortSignal): Promise<Volume> {
  const volume = await findVolume(store, id, signal);
  if (volume === undefined) {
    throw CsiError.notFound(`volume "${id}" does not exist`, { hint: "ListVolumes lists all volumes." });
  }
  return volume;
}

/** Undefined: there is no such snapshot, or the id cannot be one of ours. */
export async function findSnapshot(
  store: ObjectStore,
  id: string,
  signal: AbortSignal,
): Promise<Snapshot | undefined> {
  return isSnapshotId(id) ? getIfAny(store, Snapshots, { name: id }, signal) : undefined;
}

/** Undefined: there is no such group snapshot, or the id cannot be one of ours. */
export async function findGroupSnapshot(
  store: ObjectStore,
  id: string,
  signal: AbortSignal,
): Promise<GroupSnapshot | undefined> {
  return isGroupSnapshotId(id) ? getIfAny(store, GroupSnapshots, { name: id }, signal) : undefined;
}

/** Undefined: the pool's object is gone. */
export async function findPool(
  store: ObjectStore,
  name: string,
  signal: AbortSignal,
): Promise<Pool | undefined> {
  return getIfAny(store, Pools, { name }, signal);
}

/** Undefined: there is no agent of that node. */
export async function findNode(
  store: ObjectStore,
  id: string,
  signal: AbortSignal,
): Promise<NodeAgent | undefined> {
  return /^[a-zA-Z0-9][-._a-zA-Z0-9]*$/.test(id)
    ? getIfAny(store, NodeAgents, { name: id }, signal)
    : undefined;
}

/** All objects of a kind, page by page. */
export async function listObjects<T extends KubeObject>(
  store: ObjectStore,
  resource: Resource<T>,
  signal: AbortSignal,
): Promise<T[]> {
  return (await listAll(store, resource, { signal })).items;
}
