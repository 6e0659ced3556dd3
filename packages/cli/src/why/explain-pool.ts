import { Pools } from "@mooring/engine";
import { type Context, read } from "./context.ts";
import { explainAny } from "./explain-any.ts";
import type { Finding } from "./finding.ts";
import { endItsPods, whatKeeps } from "./pool-users.ts";

/** A pool: what its conditions report, and the pods that keep a failed one from being mounted anew. */
export async function explainPool(context: Context, name: string): Promise<Finding> {
  const found = await explainAny(context, Pools, { namespace: "", name });
  const pool = await read(context, Pools, { name });
  const kept = pool?.metadata.deletionTimestamp === undefined ? undefined : await whatKeeps(context, pool);
  if (kept !== undefined)
    return { ...found, message: `${found.message}; it ${kept.message}`, next: kept.next };
  const next = pool && (await endItsPods(context, pool));
  return next === undefined ? found : { ...found, next };
}
