import { type CallContext, CsiError, type v1 } from "@mooring/csi";
import { GroupSnapshots } from "@mooring/engine";
import type { DriverContext } from "../context.ts";
import { withdraw } from "../controller/withdraw.ts";
import { findGroupSnapshot } from "../objects/find.ts";
import { requireMembers } from "./response.ts";

/** DeleteVolumeGroupSnapshot: the group and all its snapshots. Volumes made from them stand on their own. */
export async function deleteGroupSnapshot(
  driver: DriverContext,
  { groupSnapshotId, snapshotIds }: v1.DeleteVolumeGroupSnapshotRequest,
  { signal }: CallContext,
) {
  const group = await findGroupSnapshot(driver.store, groupSnapshotId, signal);
  if (group === undefined) return {};
  requireMembers(group, snapshotIds);
  for (const name of snapshotIds) {
    const [restoring] = await driver.related.copiesOf({ kind: "Snapshot", name }, signal);
    if (restoring === undefined) continue;
    const message = `snapshot "${name}" of the group is being restored to volume "${restoring}"`;
    throw CsiError.failedPrecondition(message, { hint: "Try again when that volume is ready." });
  }
  await withdraw(driver, GroupSnapshots, group, signal);
  return {};
}
