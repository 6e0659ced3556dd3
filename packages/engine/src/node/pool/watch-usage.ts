import { isShared } from "../../api/pool.ts";
import type { PoolUsage } from "../../pools/backend.ts";
import type { AgentContext } from "../context.ts";
import { openConditions, sameConditions } from "./conditions.ts";
import { layoutOf } from "./layout-of.ts";

const POLL_MS = 1000;
/** A change of this part of the pool, or of what is left of it, is reported at once; less with the next regular read. */
const [NOTABLE, NOTABLE_OF_REST] = [0.005, 1 / 16];
const LEAST_NOTABLE = 1024 ** 2;

/**
 * Reads every open pool once a second, calls back for one whose object is out of date, and starts
 * a keeper anew where an operator has killed it. A shared folder is left alone: its server may be silent.
 */
export async function watchUsage(
  context: AgentContext,
  signal: AbortSignal,
  changed: (name: string) => void,
): Promise<void> {
  const { host, logger } = context;
  while (!signal.aborted) {
    for (const { name } of context.pools.list()) {
      try {
        if (await hasChanged(context, name)) changed(name);
      } catch (error) {
        if (!signal.aborted) logger.warn({ err: error, pool: name }, "cannot read a pool");
      }
    }
    await host.clock.sleep(POLL_MS, signal).catch(() => {});
  }
}

async function hasChanged(
  { pools, poolObjects, host, ...context }: AgentContext,
  name: string,
): Promise<boolean> {
  const pool = poolObjects.get(name);
  const backend = pools.get(name)?.backend;
  if (pool === undefined || backend === undefined || isShared(pool) || !backend.isOpen) return false;
  if (layoutOf(context, pool).backing === undefined) return false;
  const fault = await backend.fault();
  if (fault !== undefined) return pool.status?.ready === true || fault.devices === 0 || fault.idle > 0;
  await backend.watch();
  const [usage, suspended] = await Promise.all([backend.usage(), backend.writersSuspended()]);
  const { status } = pool;
  const conditions = openConditions(pool, usage, suspended, host.clock.now());
  return !sameConditions(status?.conditions, conditions) || isNotable(status?.freeBytes ?? 0, usage);
}

/**
 * Whether what the pool's object says is free is too far from what is. The less there is, the more exact it has to be: half a
 * percent of a large pool may be all that is left.
 */
export function isNotable(
  reported: number,
  { totalBytes, freeBytes }: Pick<PoolUsage, "totalBytes" | "freeBytes">,
): boolean {
  const least = Math.min(totalBytes * NOTABLE, Math.max(LEAST_NOTABLE, freeBytes * NOTABLE_OF_REST));
  return Math.abs(reported - freeBytes) > least;
}
