import { type CallContext, v1 } from "@mooring/csi";
import {
  layoutOf,
  mountFault,
  type Pool,
  Pools,
  poolNodes,
  writersHeldMessage,
  writesFailMessage,
} from "@mooring/engine";
import { describeBytes } from "@mooring/store";
import { shortText } from "../health/short-text.ts";
import { listObjects } from "../objects/find.ts";
import { isBelowReserve } from "../objects/pool-room.ts";
import type { NodeContext } from "./context.ts";

const { StorageHealthErrorType: Status } = v1;

interface PoolProblem {
  status: v1.StorageHealthErrorType;
  reason: string;
  message: string;
}

/**
 * NodeGetStorageHealth: what is wrong with the pools of this node, which hits every volume in them. One entry per
 * reason, which names the pools; empty when all is well.
 */
export async function storageHealth(
  node: NodeContext,
  _request: v1.NodeGetStorageHealthRequest,
  { signal }: CallContext,
) {
  const pools = await listObjects(node.store, Pools, signal);
  const own = pools.filter(
    (pool) => pool.spec.nodeID === node.nodeID || poolNodes(pool).includes(node.nodeID),
  );
  const found = (await Promise.all(own.map((pool) => problemOf(node, pool)))).flatMap((one) => one ?? []);
  const merged = new Map<string, PoolProblem>();
  for (const problem of found) {
    const before = merged.get(problem.reason);
    const message = before === undefined ? problem.message : `${before.message}; ${problem.message}`;
    merged.set(problem.reason, { ...problem, message });
  }
  const backendHealth = [...merged.values()].map((one) => ({ ...one, message: shortText(one.message) }));
  return { backendHealth };
}

/** The worst of what is wrong with a pool. */
async function problemOf(node: NodeContext, pool: Pool): Promise<PoolProblem | undefined> {
  const { name } = pool.metadata;
  const why = pool.status?.conditions?.find(({ type }) => type === "Ready")?.message ?? "it is being opened";
  if (pool.status?.ready !== true) {
    return { status: Status.STORAGE_UNREACHABLE, reason: "PoolNotReady", message: `${name}: ${why}` };
  }
  const fault = await faultOf(node, pool);
  if (fault !== undefined) {
    return { status: Status.STORAGE_UNREACHABLE, reason: "PoolFailed", message: `${name}: ${fault}` };
  }
  const suspended = writersHeldMessage(pool);
  if (suspended !== undefined)
    return { status: Status.STORAGE_DEGRADED, reason: "WritersHeld", message: `${name}: ${suspended}` };
  const failing = writesFailMessage(pool);
  if (failing !== undefined)
    return { status: Status.STORAGE_DEGRADED, reason: "WritesFail", message: `${name}: ${failing}` };
  if (!isBelowReserve(pool)) return undefined;
  const message = `${name}: ${describeBytes(pool.status.freeBytes ?? 0)} are free, below the pool's reserve`;
  return { status: Status.STORAGE_DEGRADED, reason: "PoolBelowReserve", message };
}

/** The pool's own file system, as its mount shows it now: the object is as old as the agent's last read. */
async function faultOf(node: NodeContext, pool: Pool): Promise<string | undefined> {
  const { backing, shared } = layoutOf(node, pool);
  const path = backing?.mount ?? shared?.mount;
  if (path === undefined) return undefined;
  const top = (await node.host.mounts.at(path)).at(-1);
  return top === undefined ? `nothing is mounted at ${path}` : mountFault(top);
}
