import { CsiError } from "@mooring/csi";
import { type ImageMap, imageMap, type Snapshot } from "@mooring/engine";
import type { DriverContext } from "../context.ts";
import { LIST_SNAPSHOTS } from "../hints.ts";
import { findPool, findSnapshot } from "../objects/find.ts";

/** A snapshot and the map of its bytes. */
export interface MappedSnapshot extends ImageMap {
  snapshot: Snapshot;
}

/** Throws NOT_FOUND for a snapshot that does not exist; block maps can be read on the node that has the pool only. */
export async function findMap(
  driver: DriverContext,
  id: string,
  signal: AbortSignal,
): Promise<MappedSnapshot> {
  const snapshot = await findSnapshot(driver.store, id, signal);
  if (snapshot?.status?.readyToUse !== true) {
    throw CsiError.notFound(`snapshot "${id}" does not exist`, { hint: LIST_SNAPSHOTS });
  }
  const pool = await findPool(driver.store, snapshot.spec.pool, signal);
  if (pool === undefined) {
    throw CsiError.unavailable(`pool "${snapshot.spec.pool}" of snapshot "${id}" is not known`);
  }
  const { nodeID } = pool.spec;
  if (nodeID !== driver.nodeID) {
    throw CsiError.failedPrecondition(`snapshot "${id}" is on node "${nodeID}", not on "${driver.nodeID}"`, {
      hint: `Ask the driver on node "${nodeID}": only it can read the snapshot's blocks.`,
    });
  }
  return { ...(await imageMap(pool, id)), snapshot };
}
