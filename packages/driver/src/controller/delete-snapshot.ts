import { type CallContext, CsiError, type v1 } from "@mooring/csi";
import { type Snapshot, Snapshots } from "@mooring/engine";
import type { DriverContext } from "../context.ts";
import { findGroupSnapshot, findSnapshot } from "../objects/find.ts";
import { withdraw } from "./withdraw.ts";

/** DeleteSnapshot. Volumes made from it stand on their own; only one that is still being made keeps it. */
export async function deleteSnapshot(
  driver: DriverContext,
  { snapshotId }: v1.DeleteSnapshotRequest,
  { signal }: CallContext,
) {
  const snapshot = await findSnapshot(driver.store, snapshotId, signal);
  if (snapshot === undefined) return {};
  await requireAlone(driver, snapshot, signal);
  const [restoring] = await driver.related.copiesOf({ kind: "Snapshot", name: snapshotId }, signal);
  if (restoring !== undefined) {
    throw CsiError.failedPrecondition(`snapshot "${snapshotId}" is being restored to volume "${restoring}"`, {
      hint: "Try again when that volume is ready.",
    });
  }
  await withdraw(driver, Snapshots, snapshot, signal);
  return {};
}

/** A group without one of its members would be no group: it goes as a whole (section "DeleteSnapshot Errors"). */
async function requireAlone(
  driver: DriverContext,
  { metadata, spec }: Snapshot,
  signal: AbortSignal,
): Promise<void> {
  if (spec.group === undefined) return;
  if ((await findGroupSnapshot(driver.store, spec.group, signal)) === undefined) return;
  const message = `snapshot "${metadata.name}" is a member of group snapshot "${spec.group}"`;
  throw CsiError.invalidArgument(message, { hint: "Call DeleteVolumeGroupSnapshot to delete all of it." });
}
