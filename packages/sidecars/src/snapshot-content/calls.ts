import type { DriverCall } from "../content/kind.ts";
import { nanoseconds, type WireTime } from "../csi/time.ts";
import type { SnapshotRequest, StorageSnapshot } from "./types.ts";

interface WireSnapshot {
  snapshotId: string;
  sizeBytes: bigint;
  readyToUse: boolean;
  creationTime?: WireTime;
}

/** A driver that gives no time means "now". */
function toSnapshot(
  { snapshotId, sizeBytes, readyToUse, creationTime }: WireSnapshot,
  nowMs: number,
): StorageSnapshot {
  return {
    handle: snapshotId,
    ready: readyToUse,
    creationTime: nanoseconds(creationTime) ?? nowMs * 1e6,
    sizeBytes: Number(sizeBytes),
  };
}

/** CreateSnapshot. */
export async function createSnapshot(
  { client, nowMs, options, secrets }: DriverCall,
  { secret: _secret, ...request }: SnapshotRequest,
): Promise<StorageSnapshot> {
  const { snapshot } = await client.controller.createSnapshot({ ...request, secrets }, options);
  if (!snapshot?.snapshotId) throw new Error("the driver responded to CreateSnapshot without a snapshot id");
  return toSnapshot(snapshot, nowMs);
}

/** GetSnapshot or ListSnapshots. A driver that has neither is believed that an existing snapshot is ready. */
export async function inspectSnapshot(
  { client, driver, nowMs, options, secrets }: DriverCall,
  { handle }: { handle: string },
): Promise<StorageSnapshot> {
  if (driver.can.has("GET_SNAPSHOT")) {
    const { snapshot } = await client.controller.getSnapshot({ snapshotId: handle, secrets }, options);
    if (snapshot !== undefined) return toSnapshot(snapshot, nowMs);
  } else if (driver.can.has("LIST_SNAPSHOTS")) {
    const { entries } = await client.controller.listSnapshots({ snapshotId: handle, secrets }, options);
    const found = entries.find(({ snapshot }) => snapshot?.snapshotId === handle)?.snapshot;
    if (found !== undefined) return toSnapshot(found, nowMs);
  } else return { handle, ready: true, creationTime: nowMs * 1e6, sizeBytes: 0 };
  throw new Error(`the driver does not know snapshot ${handle}`);
}
