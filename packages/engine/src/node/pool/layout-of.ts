import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isShared, type Pool } from "../../api/pool.ts";
import { type PoolLayout, poolLayout, rbdLayout, sharedLayout } from "../../pools/layout.ts";
import type { AgentContext } from "../context.ts";

/** Where the pool is on this node; a shared one, and what is open of a cluster, is seen below the node's own state folder. */
export function layoutOf({ stateDir }: Pick<AgentContext, "stateDir">, pool: Pool): PoolLayout {
  const { type, path } = pool.spec;
  const own = asKernelNames(join(stateDir, "pools", pool.metadata.name));
  if (type === "rbd") return rbdLayout(own);
  return isShared(pool) ? sharedLayout(own, path) : poolLayout(type, asKernelNames(path));
}

/** The kernel names devices' files and mounts without symbolic links, and is asked which of them are a pool's. */
function asKernelNames(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // Not made yet, perhaps: the folder that it will be made in may be there.
    const parent = dirname(path);
    return parent === path ? path : join(asKernelNames(parent), basename(path));
  }
}

/** This node has the pool, or takes part in it. */
export function isPoolHere(
  { nodeID, sharing }: Pick<AgentContext, "nodeID" | "sharing">,
  pool: Pool,
): boolean {
  return isShared(pool) ? sharing?.pools.has(pool.metadata.name) === true : pool.spec.nodeID === nodeID;
}
