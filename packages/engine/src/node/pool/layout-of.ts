import { existsSync, realpathSync } from "node:fs";
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

/**
 * A pool in a Ceph cluster is of every node that has the cluster's configuration file, whoever made its object. A shared folder is not: what
 * another kernel has at that path is another folder.
 */
export function canJoin({ sharing }: Pick<AgentContext, "sharing">, { spec }: Pool): boolean {
  return sharing !== undefined && spec.type === "rbd" && existsSync(spec.path);
}

/** From now on this node takes part in the pool; for a name that it has already nothing changes. */
export function joinPool({ sharing }: Pick<AgentContext, "sharing">, { metadata }: Pool): void {
  sharing?.pools.add(metadata.name);
}
