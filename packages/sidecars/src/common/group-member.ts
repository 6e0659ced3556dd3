import {
  GROUP_SNAPSHOT_GROUP,
  hasFinalizer,
  type OwnerReference,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
} from "@mooring/store";
import { MEMBER_OF_HANDLE, SNAPSHOT_IN_GROUP_FINALIZER } from "./names.ts";

/** The VolumeGroupSnapshot that owns a snapshot, in whichever version it was written down. */
export function groupOwnerOf({ metadata }: VolumeSnapshot): OwnerReference | undefined {
  return metadata.ownerReferences?.find(
    ({ apiVersion, kind }) =>
      kind === "VolumeGroupSnapshot" && apiVersion.startsWith(`${GROUP_SNAPSHOT_GROUP}/`),
  );
}

/** Members are made with their group: no controller may create or delete one for itself. */
export function isGroupMember(snapshot: VolumeSnapshot): boolean {
  return hasFinalizer(snapshot, SNAPSHOT_IN_GROUP_FINALIZER) || groupOwnerOf(snapshot) !== undefined;
}

/** The annotation is there from birth, the status only a moment later. */
export function isMemberContent({ metadata, status }: VolumeSnapshotContent): boolean {
  return (
    metadata.annotations?.[MEMBER_OF_HANDLE] !== undefined || status?.volumeGroupSnapshotHandle !== undefined
  );
}
