import { createHash } from "node:crypto";

/**
 * The volume id of a CreateVolume name. One name is one id on every attempt, so the store itself keeps two calls from
 * making two volumes, and no index of names can be lost in a crash. Names may be any Unicode; ids are safe in paths.
 */
export function volumeIdOf(name: string): string {
  return `v-${uuidOf(`volume:${name}`)}`;
}

/** The snapshot id of a CreateSnapshot name: unique over all source volumes, as the specification wants names to be. */
export function snapshotIdOf(name: string): string {
  return `s-${uuidOf(`snapshot:${name}`)}`;
}

/** The group snapshot id of a CreateVolumeGroupSnapshot name. */
export function groupSnapshotIdOf(name: string): string {
  return `g-${uuidOf(`group-snapshot:${name}`)}`;
}

/** The volume group id of a CreateVolumeGroup name. */
export function volumeGroupIdOf(name: string): string {
  return `vg-${uuidOf(`volume-group:${name}`)}`;
}

/** The id of a group's snapshot of one volume: the same on every attempt, and no name of a single snapshot leads to it. */
export function groupMemberIdOf(name: string, volumeId: string): string {
  return `s-${uuidOf(`group-member:${volumeId}:${name}`)}`;
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
/** False: no group snapshot can have this id, so nobody reads it. */
export function isGroupSnapshotId(id: string): boolean {
  return GROUP_SNAPSHOT_ID.test(id);
}
/** False: no volume group can have this id, so nobody reads it. */
export function isVolumeGroupId(id: string): boolean {
  return VOLUME_GROUP_ID.test(id);
}
/** False: no snapshot can have this id, so nobody reads it. */
export function isSnapshotId(id: string): boolean {
  return SNAPSHOT_ID.test(id);
}

/** For comparing values that must not be kept as they are, such as mount flags. */
export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function uuidOf(text: string): string {
  const hex = sha256(text);
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `a${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return parts.join("-");
}
