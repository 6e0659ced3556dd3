import { type CallContext, CsiError, type v1 } from "@mooring/csi";
import type { DriverContext } from "../context.ts";
import { LIST_SNAPSHOTS } from "../hints.ts";
import { findGroupSnapshot } from "../objects/find.ts";
import { groupResponse, requireMembers } from "./response.ts";

/** GetVolumeGroupSnapshot. */
export async function getGroupSnapshot(
  driver: DriverContext,
  { groupSnapshotId, snapshotIds }: v1.GetVolumeGroupSnapshotRequest,
  { signal }: CallContext,
) {
  const group = await findGroupSnapshot(driver.store, groupSnapshotId, signal);
  const made = group?.status?.creationTime !== undefined && group.metadata.deletionTimestamp === undefined;
  if (group === undefined || !made) {
    throw CsiError.notFound(`group snapshot "${groupSnapshotId}" does not exist`, { hint: LIST_SNAPSHOTS });
  }
  requireMembers(group, snapshotIds);
  return { groupSnapshot: await groupResponse(driver, group, signal) };
}
