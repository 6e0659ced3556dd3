import { defined, formatQuantity, type VolumeSnapshot, type VolumeSnapshotContent } from "@mooring/store";
import { rfc3339 } from "../common/time.ts";

type Status = NonNullable<VolumeSnapshot["status"]>;

/** A snapshot's status as its content has it. What was known once (size, time) is never unlearned. */
export function statusFor(snapshot: VolumeSnapshot, content: VolumeSnapshotContent, now: string): Status {
  const { creationTime, error, readyToUse = false, restoreSize } = content.status ?? {};
  const before = snapshot.status ?? {};
  const created = creationTime === undefined ? before.creationTime : rfc3339(creationTime / 1e6);
  const size =
    before.restoreSize ?? (restoreSize === undefined ? undefined : formatQuantity(BigInt(restoreSize)));
  const message = error?.message;
  return {
    boundVolumeSnapshotContentName: content.metadata.name,
    readyToUse,
    ...defined({ creationTime: created, restoreSize: size }),
    ...(message === undefined
      ? {}
      : { error: before.error?.message === message ? before.error : { message, time: error?.time ?? now } }),
    ...defined({ volumeGroupSnapshotName: before.volumeGroupSnapshotName }),
  };
}

/** Compares what users read; the time of an error is not news. */
export function sameStatus(a: Status, b: Status): boolean {
  return (
    a.boundVolumeSnapshotContentName === b.boundVolumeSnapshotContentName &&
    a.readyToUse === b.readyToUse &&
    a.creationTime === b.creationTime &&
    a.restoreSize === b.restoreSize &&
    a.error?.message === b.error?.message
  );
}
