import { keyOf, type VolumeGroupSnapshot, type VolumeSnapshot } from "@mooring/store";
import { SNAPSHOT_OF_GROUP } from "./volume-group-names.ts";

/** `ns/name` of the VolumeGroupSnapshot that a snapshot is a member of; empty when there is none. */
export function groupOf({ metadata, status }: VolumeSnapshot): string[] {
  const owner = metadata.ownerReferences?.find(({ kind }) => kind === "VolumeGroupSnapshot");
  const name = owner?.name ?? status?.volumeGroupSnapshotName;
  return name === undefined ? [] : [keyOf({ metadata: { ...metadata, name } })];
}

/** The VolumeGroup that a group snapshot is of; undefined: its selector says which claims it is of. */
export function groupOfSnapshot({ metadata }: VolumeGroupSnapshot): string | undefined {
  return metadata.annotations?.[SNAPSHOT_OF_GROUP] || undefined;
}
