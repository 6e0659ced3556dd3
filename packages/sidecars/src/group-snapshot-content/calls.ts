import type { CsiClient } from "@mooring/csi";
import type { VolumeSnapshotInfo } from "@mooring/store";
import { defined } from "@mooring/store";
import { rfc3339 } from "../common/time.ts";
import type { CutGroup } from "./cut-group.ts";
import type { GroupCutArguments, GroupTarget } from "./decide.ts";

interface CallOptions {
  signal: AbortSignal;
  timeoutMs: number;
}

type Time = { seconds: bigint; nanos: number } | undefined;

interface WireGroup {
  groupSnapshotId: string;
  snapshots: {
    snapshotId: string;
    sourceVolumeId: string;
    sizeBytes: bigint;
    readyToUse: boolean;
    creationTime?: Time;
  }[];
  readyToUse: boolean;
  creationTime?: Time;
}

/** Nanoseconds; the first second of 1970 is no time. */
function nanoseconds(time: Time): number | undefined {
  if (time === undefined || (time.seconds === 0n && time.nanos === 0)) return undefined;
  return Number(time.seconds * 1_000_000_000n + BigInt(time.nanos));
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

function toCut(method: string, group: WireGroup | undefined): CutGroup {
  if (!group?.groupSnapshotId) throw new Error(`the driver answered ${method} without a group snapshot id`);
  const created = nanoseconds(group.creationTime);
  return {
    handle: group.groupSnapshotId,
    ready: group.readyToUse,
    members: group.snapshots.map(toInfo),
    ...(created === undefined ? {} : { creationTime: rfc3339(created / 1e6) }),
  };
}

export async function createGroupSnapshot(
  client: CsiClient,
  { secret: _secret, ...wanted }: GroupCutArguments,
  secrets: Record<string, string>,
  options: CallOptions,
): Promise<CutGroup> {
  const answer = await client.groupController.createVolumeGroupSnapshot({ ...wanted, secrets }, options);
  return toCut("CreateVolumeGroupSnapshot", answer.groupSnapshot);
}

export async function inspectGroupSnapshot(
  client: CsiClient,
  { secret: _secret, ...target }: GroupTarget,
  secrets: Record<string, string>,
  options: CallOptions,
): Promise<CutGroup> {
  const answer = await client.groupController.getVolumeGroupSnapshot({ ...target, secrets }, options);
  return toCut("GetVolumeGroupSnapshot", answer.groupSnapshot);
}

export async function deleteGroupSnapshot(
  client: CsiClient,
  { secret: _secret, ...target }: GroupTarget,
  secrets: Record<string, string>,
  options: CallOptions,
): Promise<void> {
  await client.groupController.deleteVolumeGroupSnapshot({ ...target, secrets }, options);
}
