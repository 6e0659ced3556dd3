import { keyOf, type VolumeSnapshot } from "@mooring/store";

/** `ns/name` of the VolumeGroupSnapshot that a snapshot is a member of; empty when there is none. */
export function groupOf({ metadata, status }: VolumeSnapshot): string[] {
  const owner = metadata.ownerReferences?.find(({ kind }) => kind === "VolumeGroupSnapshot");
  const name = owner?.name ?? status?.volumeGroupSnapshotName;
  return name === undefined ? [] : [keyOf({ metadata: { ...metadata, name } })];
}
