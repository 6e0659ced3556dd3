import { createHash } from "node:crypto";
import type { VolumeGroupSnapshot } from "@mooring/store";

/** The content that a group snapshot gets. */
export function groupContentNameFor({ metadata }: VolumeGroupSnapshot): string {
  return `groupsnapcontent-${metadata.uid}`;
}

/** The content to read for a group snapshot. */
export function groupContentNameOf(group: VolumeGroupSnapshot): string {
  const { spec, status } = group;
  return (
    spec.source.volumeGroupSnapshotContentName ??
    status?.boundVolumeGroupSnapshotContentName ??
    groupContentNameFor(group)
  );
}

/** Names of a member's two objects: the same in every attempt, and another for every group and volume. */
export function memberNames(groupUid: string, volumeHandle: string): { snapshot: string; content: string } {
  const hash = createHash("sha256").update(`${groupUid}${volumeHandle}`).digest("hex");
  return { snapshot: `snapshot-${hash}`, content: `snapcontent-${hash}` };
}
