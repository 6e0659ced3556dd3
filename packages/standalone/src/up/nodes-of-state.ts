import { isShared, Pools, poolIsIn } from "@mooring/engine";
import { listAll, type ObjectStore } from "@mooring/store";
import { DEFAULT_POOL } from "./default-pool.ts";

/**
 * The nodes whose pools are in a state folder by what the store has of them. Machines that have joined have pools at the
 * same paths, which are on their own disks: what counts is what is here, and the pool that every start of this kind makes.
 */
export async function nodesOfState(store: ObjectStore, root: string): Promise<string[]> {
  const { items } = await listAll(store, Pools, {});
  const nodes = new Set<string>();
  for (const pool of items) {
    const { name } = pool.metadata;
    const { nodeID } = pool.spec;
    if (isShared(pool) || nodeID === undefined) continue;
    if (name === DEFAULT_POOL || (await poolIsIn(root, name))) nodes.add(nodeID);
  }
  return [...nodes];
}
