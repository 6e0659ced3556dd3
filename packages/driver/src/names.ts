import { sha256 } from "@mooring/store";

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
