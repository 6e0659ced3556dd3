import type { VolumeSnapshotInfo } from "@mooring/store";
import { defined } from "@mooring/store";
import { rfc3339 } from "../common/time.ts";
import type { DriverCall } from "../content/kind.ts";
import { nanoseconds, type WireTime } from "../csi/time.ts";
import type { StorageGroup } from "./storage-group.ts";
import type { GroupRequest, GroupTarget } from "./types.ts";

interface WireGroup {
  groupSnapshotId: string;
  snapshots: {
    snapshotId: string;
    sourceVolumeId: string;
    sizeBytes: bigint;
    readyToUse: boolean;
    creationTime?: WireTime;
  }[];
  readyToUse: boolean;
  creationTime?: WireTime;
}

function toInfo(snapshot: WireGroup["snapshots"][number]): VolumeSnapshotInfo {
  const { readyToUse, sizeBytes, snapshotId, sourceVolumeId } = snapshot;
  const creationTime = nanoseconds(snapshot.creationTime);
  return {
    volumeHandle: sourceVolumeId,
    snapshotHandle: snapshotId,
    readyToUse,
    ...defined({ creationTime }),
    // 0 means that the driver does not know.
    ...(sizeBytes > 0n ? { restoreSize: Number(sizeBytes) } : {}),
  };
}

function toGroup(method: string, group: WireGroup | undefined): StorageGroup {
  if (!group?.groupSnapshotId)
    throw new Error(`the driver responded to ${method} without a group snapshot id`);
  const created = nanoseconds(group.creationTime);
  return {
    handle: group.groupSnapshotId,
    ready: group.readyToUse,
    members: group.snapshots.map(toInfo),
    ...(created === undefined ? {} : { creationTime: rfc3339(created / 1e6) }),
  };
}

/** CreateVolumeGroupSnapshot. */
export async function createGroupSnapshot(
  { client, options, secrets }: DriverCall,
  { secret: _secret, ...request }: GroupRequest,
): Promise<StorageGroup> {
  const result = await client.groupController.createVolumeGroupSnapshot({ ...request, secrets }, options);
  return toGroup("CreateVolumeGroupSnapshot", result.groupSnapshot);
}

/** GetVolumeGroupSnapshot. */
export async function inspectGroupSnapshot(
  { client, options, secrets }: DriverCall,
  { secret: _secret, ...target }: GroupTarget,
): Promise<StorageGroup> {
  const result = await client.groupController.getVolumeGroupSnapshot({ ...target, secrets }, options);
  return toGroup("GetVolumeGroupSnapshot", result.groupSnapshot);
}

/** DeleteVolumeGroupSnapshot. */
export async function deleteGroupSnapshot(
  { client, options, secrets }: DriverCall,
  { secret: _secret, ...target }: GroupTarget,
): Promise<void> {
  await client.groupController.deleteVolumeGroupSnapshot({ ...target, secrets }, options);
}
