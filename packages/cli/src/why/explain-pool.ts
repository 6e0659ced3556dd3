import { isShared, NO_NODE, type Pool, Pools, poolNodes } from "@mooring/engine";
import { defined } from "@mooring/store";
import { type Context, read } from "./context.ts";
import { explainAny } from "./explain-any.ts";
import { explainPoolRoom } from "./explain-room.ts";
import { type Finding, finding } from "./finding.ts";
import { endItsPods, whatKeeps } from "./pool-users.ts";

/** A pool: what its conditions report, and the pods that keep a failed one from being mounted anew. */
export async function explainPool(context: Context, name: string): Promise<Finding> {
  const found = await explainAny(context, Pools, { namespace: "", name });
  const pool = await read(context, Pools, { name });
  const kept = pool?.metadata.deletionTimestamp === undefined ? undefined : await whatKeeps(context, pool);
  if (kept !== undefined)
    return { ...found, message: `${found.message}; it ${kept.message}`, next: kept.next };
  if (pool !== undefined && isWithoutNode(pool)) {
    const { message, next } = withoutNode(pool);
    return finding("failed", found.subject, message, { next });
  }
  const next = pool && (await endItsPods(context, pool));
  if (next !== undefined) return { ...found, next };
  const room = pool?.status?.ready === true ? explainPoolRoom(pool) : undefined;
  if (room === undefined) return found;
  return room.state === "failed" ? room : { ...found, ...defined({ next: room.next }) };
}

/** A shared pool in which no agent takes part: nobody opens it. */
export function isWithoutNode(pool: Pool): boolean {
  const { conditions, ready } = pool.status ?? {};
  const silent = conditions === undefined || conditions.some(({ reason }) => reason === NO_NODE);
  return isShared(pool) && poolNodes(pool).length === 0 && silent && ready !== true;
}

/** What is said of one, and the next step. */
export function withoutNode({ spec: { path, rbd }, status }: Pool): { message: string; next: string } {
  const message = status?.conditions?.find(({ reason }) => reason === NO_NODE)?.message ?? "no node has it";
  if (rbd === undefined)
    return { message, next: `start mooring up and each mooring node with --shared-pool (${path})` };
  const key = rbd.keyring === undefined ? "the user's keyring" : rbd.keyring;
  return {
    message,
    next: `put the cluster's configuration file there, and ${key}, on each machine that is to have it: its node then takes part by itself (in a Kubernetes cluster: node.cephPools of the chart)`,
  };
}
