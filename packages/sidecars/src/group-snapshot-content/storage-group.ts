import type { VolumeGroupSnapshotContent, VolumeSnapshotInfo } from "@mooring/store";

/** A group snapshot as the driver describes it. */
export interface StorageGroup {
  handle: string;
  /** The driver reports it of the whole. */
  ready: boolean;
  /** RFC 3339; absent when the driver gives none: no time is made up. */
  creationTime?: string;
  members: VolumeSnapshotInfo[];
}

/** A group is as ready as its last member, whatever the driver reports of the whole. */
export function isGroupReady({ ready, members }: StorageGroup): boolean {
  return ready && members.every(({ readyToUse }) => readyToUse === true);
}

const list = (handles: readonly string[]): string => handles.join(", ") || "none";

/**
 * What is wrong with a response, if anything: every source has exactly one snapshot, and nothing else is in it. A group
 * with a fault is kept on record, because it has to be deleted one day, and never gets ready.
 */
export function faultOf(content: VolumeGroupSnapshotContent, group: StorageGroup): string | undefined {
  const known = content.status?.volumeGroupSnapshotHandle;
  if (known !== undefined && known !== group.handle)
    return `the driver returned group snapshot ${group.handle}, but this content is ${known}`;
  const ids = group.members.map(({ snapshotHandle }) => snapshotHandle ?? "");
  if (ids.length === 0) return "the driver returned no member snapshot";
  if (ids.includes("")) return "the driver returned a member that has no snapshot id";
  const twice = repeated(ids);
  if (twice.length > 0) return `the driver returned snapshots that come twice: ${list(twice)}`;
  const { volumeHandles, groupSnapshotHandles } = content.spec.source;
  if (volumeHandles === undefined) {
    const missing = (groupSnapshotHandles?.volumeSnapshotHandles ?? []).filter((id) => !ids.includes(id));
    return missing.length === 0 ? undefined : `the group on storage has no snapshot ${list(missing)}`;
  }
  const sources = group.members.map(({ volumeHandle }) => volumeHandle ?? "");
  const without = volumeHandles.filter((handle) => !sources.includes(handle));
  const foreign = sources.filter((handle) => !volumeHandles.includes(handle));
  const double = repeated(sources);
  if (without.length + foreign.length + double.length === 0) return undefined;
  return (
    "the members that the driver returned are not the volumes that were asked for; " +
    `missing: ${list(without)}; not asked for: ${list(foreign)}; more than once: ${list(double)}`
  );
}

function repeated(values: readonly string[]): string[] {
  return [...new Set(values.filter((value, index) => values.indexOf(value) !== index))];
}

/** Whether everything about the members is on record. */
export function isOnRecord(content: VolumeGroupSnapshotContent): boolean {
  const { volumeGroupSnapshotHandle: handle, volumeSnapshotInfoList: members = [] } = content.status ?? {};
  return handle !== undefined && faultOf(content, { handle, ready: true, members }) === undefined;
}
