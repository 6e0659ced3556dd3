import { Pools } from "@mooring/engine";
import { type Context, read } from "./context.ts";
import { explainAny } from "./explain-any.ts";
import type { Finding } from "./finding.ts";
import { endItsPods } from "./pool-users.ts";

/** A pool: what its conditions report, and the pods that keep a failed one from being mounted anew. */
export async function explainPool(context: Context, name: string): Promise<Finding> {
  const found = await explainAny(context, Pools, { namespace: "", name });
  const pool = await read(context, Pools, { name });
  const next = pool && (await endItsPods(context, pool));
  return next === undefined ? found : { ...found, next };
}
