import { type CallContext, CsiError, type v1 } from "@mooring/csi";
import { Snapshots } from "@mooring/engine";
import type { DriverContext } from "../context.ts";
import { findSnapshot } from "./objects.ts";
import { withdraw } from "./withdraw.ts";

/** DeleteSnapshot. Volumes made from it stand on their own; only one that is still being made keeps it. */
export async function deleteSnapshot(
  driver: DriverContext,
  { snapshotId }: v1.DeleteSnapshotRequest,
  { signal }: CallContext,
) {
  const snapshot = await findSnapshot(driver.store, snapshotId, signal);
  if (snapshot === undefined) return {};
  const [restoring] = await driver.related.copiesOf({ kind: "Snapshot", name: snapshotId }, signal);
  if (restoring !== undefined) {
    throw CsiError.failedPrecondition(`snapshot "${snapshotId}" is being restored to volume "${restoring}"`, {
      hint: "Try again when that volume is ready.",
    });
  }
  await withdraw(driver, Snapshots, snapshot, signal);
  return {};
}
