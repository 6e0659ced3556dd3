import type { VolumeGroupSnapshotContent, VolumeSnapshotInfo } from "@mooring/store";
import { defined } from "@mooring/store";
import { isGroupReady, type StorageGroup } from "./storage-group.ts";

type Status = NonNullable<VolumeGroupSnapshotContent["status"]>;

/**
 * A content's status after a response. The handle, times and sizes that were known once are never unlearned; whether
 * members are ready is always what the driver returned last.
 */
export function statusAfter(
  content: VolumeGroupSnapshotContent,
  group: StorageGroup,
  fault?: string,
): Status {
  const before = content.status ?? {};
  const handle = before.volumeGroupSnapshotHandle ?? group.handle;
  const creationTime = before.creationTime ?? group.creationTime;
  // What a response about another group has of its members is nothing about ours.
  const members =
    handle === group.handle
      ? merge(before.volumeSnapshotInfoList, group.members)
      : before.volumeSnapshotInfoList;
  return {
    volumeGroupSnapshotHandle: handle,
    readyToUse: fault === undefined && isGroupReady(group),
    ...defined({ creationTime }),
    ...(members === undefined
      ? {}
      : {
          volumeSnapshotInfoList: members,
          volumeSnapshotHandlePairList: members.map(({ snapshotHandle = "", volumeHandle = "" }) => ({
            volumeHandle,
            snapshotHandle,
          })),
        }),
  };
}

function merge(
  before: readonly VolumeSnapshotInfo[] = [],
  now: readonly VolumeSnapshotInfo[],
): VolumeSnapshotInfo[] {
  return now.map((member) => {
    const known = before.find(({ snapshotHandle }) => snapshotHandle === member.snapshotHandle);
    const creationTime = known?.creationTime ?? member.creationTime;
    const restoreSize = known?.restoreSize ?? member.restoreSize;
    return {
      ...member,
      ...defined({ creationTime, restoreSize }),
    };
  });
}
