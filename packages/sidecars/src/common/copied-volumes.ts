import type { VolumeGroupSnapshotContent, VolumeSnapshotContent } from "@mooring/store";
import { isMemberContent } from "./group-member.ts";
import { BEING_CREATED, GROUP_BEING_CREATED } from "./names.ts";

/**
 * Whether the driver may be copying the source of a content right now. A snapshot that cannot be made keeps nothing: its
 * content is not marked.
 */
export function isCopying(content: VolumeSnapshotContent): boolean {
  const { metadata, spec, status } = content;
  if (spec.source.volumeHandle === undefined || isMemberContent(content)) return false;
  if (status?.readyToUse === true) return false;
  return metadata.annotations?.[BEING_CREATED] !== undefined || status?.snapshotHandle !== undefined;
}

/** `driver:volume handle` of the volume that a content is being made from. */
export function copiedVolume(content: VolumeSnapshotContent): string[] {
  return isCopying(content) ? [`${content.spec.driver}:${content.spec.source.volumeHandle}`] : [];
}

/** The same of all members of a group; its mark stays when it has its handle. What is deleted then is not being made any more. */
export function copiedVolumes({ metadata, spec, status }: VolumeGroupSnapshotContent): string[] {
  if (status?.readyToUse === true) return [];
  const isCopied =
    status?.volumeGroupSnapshotHandle === undefined
      ? metadata.annotations?.[GROUP_BEING_CREATED] !== undefined
      : metadata.deletionTimestamp === undefined;
  if (!isCopied) return [];
  return (spec.source.volumeHandles ?? []).map((handle) => `${spec.driver}:${handle}`);
}
