import type { VolumeGroupSnapshotContent, VolumeSnapshotInfo } from "@mooring/store";
import { defined } from "@mooring/store";
import { type CutGroup, isCutReady } from "./cut-group.ts";

type Status = NonNullable<VolumeGroupSnapshotContent["status"]>;

/**
 * A content's status after an answer. The handle, times and sizes that were known once are never unlearned; whether
 * members are ready is always what the driver said last.
 */
export function statusAfter(content: VolumeGroupSnapshotContent, cut: CutGroup, fault?: string): Status {
  const before = content.status ?? {};
  const handle = before.volumeGroupSnapshotHandle ?? cut.handle;
  const creationTime = before.creationTime ?? cut.creationTime;
  // What an answer about another group says of its members is nothing about ours.
  const members =
    handle === cut.handle ? merge(before.volumeSnapshotInfoList, cut.members) : before.volumeSnapshotInfoList;
  return {
    volumeGroupSnapshotHandle: handle,
    readyToUse: fault === undefined && isCutReady(cut),
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
