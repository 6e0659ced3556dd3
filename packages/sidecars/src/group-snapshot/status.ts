import type { VolumeGroupSnapshot, VolumeGroupSnapshotContent } from "@mooring/store";
import { defined } from "@mooring/store";
import { isOnRecord } from "../group-snapshot-content/storage-group.ts";

type Status = NonNullable<VolumeGroupSnapshot["status"]>;

/** A group's status as its content has it, once its members are as their list has them. */
export function statusFor(
  group: VolumeGroupSnapshot,
  content: VolumeGroupSnapshotContent,
  now: string,
): Status {
  const before = group.status ?? {};
  const { creationTime = before.creationTime, error, readyToUse = false } = content.status ?? {};
  const message = error?.message;
  return {
    boundVolumeGroupSnapshotContentName: content.metadata.name,
    readyToUse: readyToUse && isOnRecord(content),
    ...defined({ creationTime }),
    ...(message === undefined
      ? {}
      : { error: before.error?.message === message ? before.error : { message, time: error?.time ?? now } }),
  };
}

/** Compares what users read; the time of an error is not news. */
export function sameGroupStatus(a: Status, b: Status): boolean {
  return (
    a.boundVolumeGroupSnapshotContentName === b.boundVolumeGroupSnapshotContentName &&
    a.readyToUse === b.readyToUse &&
    a.creationTime === b.creationTime &&
    a.error?.message === b.error?.message
  );
}
