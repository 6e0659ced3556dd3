import { type CallContext, CsiError, type v1 } from "@mooring/csi";
import { Snapshots, Volumes } from "@mooring/engine";
import type { DriverContext } from "../context.ts";
import { findSnapshot, listObjects } from "./objects.ts";
import { withdraw } from "./withdraw.ts";

/** DeleteSnapshot. Volumes made from it stand on their own; only one that is still being made keeps it. */
export async function deleteSnapshot(
  driver: DriverContext,
  { snapshotId }: v1.DeleteSnapshotRequest,
  { signal }: CallContext,
) {
  const snapshot = await findSnapshot(driver.store, snapshotId, signal);
  if (snapshot === undefined) return {};
  const volumes = await listObjects(driver.store, Volumes, signal);
  const restoring = volumes.find(
    ({ spec, status }) =>
      spec.source?.kind === "Snapshot" && spec.source.name === snapshotId && status?.size === undefined,
  );
  if (restoring !== undefined) {
    throw CsiError.failedPrecondition(
      `snapshot "${snapshotId}" is being restored to volume "${restoring.metadata.name}"`,
      {
        hint: "Try again when that volume is ready.",
      },
    );
  }
  await withdraw(driver, Snapshots, snapshot, signal);
  return {};
}
