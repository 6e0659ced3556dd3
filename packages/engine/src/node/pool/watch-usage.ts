import { isShared } from "../../api/pool.ts";
import type { AgentContext } from "../context.ts";
import { openConditions, sameConditions } from "./conditions.ts";
import { layoutOf } from "./layout-of.ts";

const POLL_MS = 1000;
/** A change of this part of the pool is reported at once; less with the next regular read. */
const NOTABLE = 0.005;

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
  const difference = Math.abs((status?.freeBytes ?? 0) - usage.freeBytes);
  return !sameConditions(status?.conditions, conditions) || difference > usage.totalBytes * NOTABLE;
}
