import { isShared, type Pool, Pools, poolNodes } from "@mooring/engine";
import { type Context, read } from "./context.ts";
import { explainAny } from "./explain-any.ts";
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
  return next === undefined ? found : { ...found, next };
}

/** A shared pool that no agent was started with: nobody opens it, and so nobody reports anything of it. */
export function isWithoutNode(pool: Pool): boolean {
  const silent = pool.status?.conditions === undefined && pool.status?.ready !== true;
  return isShared(pool) && poolNodes(pool).length === 0 && silent;
}

/** What is said of one, and the next step. */
export function withoutNode({ metadata: { name }, spec }: Pool): { message: string; next: string } {
  const { path, rbd } = spec;
  const user = rbd && [`user:${rbd.user}`, `pool:${rbd.pool}`];
  const more = [rbd?.namespace && `namespace:${rbd.namespace}`, rbd?.keyring && `keyring:${rbd.keyring}`];
  const settings = user && [`conf:${path}`, ...user, ...more.filter(Boolean)].join(",");
  return {
    message: "no node has it: an object alone makes none take part",
    next:
      settings === undefined
        ? `start mooring up and each mooring node with --shared-pool (${path})`
        : `start mooring up, and each mooring node that is to have it, with --rbd-pool ${name}=${settings}`,
  };
}
