import { type CallContext, CsiError, type v1 } from "@mooring/csi";
import type { Snapshot } from "@mooring/engine";
import type { DriverContext } from "../context.ts";
import { LIST_SNAPSHOTS } from "../hints.ts";
import { findPool, findSnapshot, positionOf } from "../objects/find.ts";
import { paginate } from "../paging/token.ts";
import { snapshotResponse } from "./responses.ts";

/** ListSnapshots: everything that has been made, in order of creation. Filters that match nothing give an empty list. */
export async function listSnapshots(
  driver: DriverContext,
  request: v1.ListSnapshotsRequest,
  { signal }: CallContext,
) {
  const all = await candidates(driver, request.snapshotId, signal);
  const wanted = all.filter(
    (snapshot) =>
      snapshot.status?.creationTime !== undefined &&
      (request.sourceVolumeId === "" || snapshot.spec.volume === request.sourceVolumeId),
  );
  const page = paginate(wanted, positionOf, request);
  const pools = page.items.length === 0 ? [] : await driver.lists.pools.get(signal);
  const poolOf = new Map(pools.map((pool) => [pool.metadata.name, pool]));
  return {
    entries: page.items.map((snapshot) => ({
      snapshot: snapshotResponse(driver, snapshot, poolOf.get(snapshot.spec.pool)),
    })),
    nextToken: page.nextToken ?? "",
  };
}

async function candidates(
  driver: DriverContext,
  id: string,
  signal: AbortSignal,
): Promise<readonly Snapshot[]> {
  if (id === "") return driver.lists.snapshots.get(signal);
  const one = await findSnapshot(driver.store, id, signal);
  return one === undefined ? [] : [one];
}

/** GetSnapshot. */
export async function getSnapshot(
  driver: DriverContext,
  { snapshotId }: v1.GetSnapshotRequest,
  { signal }: CallContext,
) {
  if (snapshotId === "") throw CsiError.invalidArgument("snapshot_id is required");
  const snapshot = await findSnapshot(driver.store, snapshotId, signal);
  if (snapshot?.status?.creationTime === undefined) {
    throw CsiError.notFound(`snapshot "${snapshotId}" does not exist`, { hint: LIST_SNAPSHOTS });
  }
  const pool = await findPool(driver.store, snapshot.spec.pool, signal);
  return { snapshot: snapshotResponse(driver, snapshot, pool) };
}
