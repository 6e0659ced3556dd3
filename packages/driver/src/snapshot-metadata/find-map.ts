import { CsiError } from "@mooring/csi";
import { type ImageMap, imageMap, type Pool, poolNodes, type Snapshot } from "@mooring/engine";
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
  requireHere(driver, pool, id);
  return { ...(await imageMap(pool, id, driver)), snapshot };
}

function requireHere({ nodeID }: DriverContext, pool: Pool, id: string): void {
  const nodes = poolNodes(pool);
  if (nodes.includes(nodeID)) return;
  const where = `node "${nodes.join('", "')}"`;
  throw CsiError.failedPrecondition(`snapshot "${id}" is on ${where}, not on "${nodeID}"`, {
    hint: `Ask the driver on ${where}: only it can read the snapshot's blocks.`,
  });
}
