import { mutate } from "@mooring/store";
import { FILESYSTEM_FAILED, isShared, POOL_MISSING, type Pool, Pools, poolNodes } from "../../api/pool.ts";
import { asRecorded } from "../../errors.ts";
import { Refused } from "../../refused.ts";
import type { AgentContext } from "../context.ts";
import { condition } from "./conditions.ts";
import { isPoolThere } from "./gone.ts";
import { layoutOf } from "./layout-of.ts";

/** A pool that is open stays ready, whatever else failed, unless its file system has. */
export async function reportNotReady(context: AgentContext, name: string, error: unknown): Promise<void> {
  if (context.signal.aborted) return;
  const { store, host, events, pools, nodeID, signal } = context;
  const { code, message } = asRecorded(error);
  const known = context.poolObjects.get(name);
  if (known !== undefined && isShared(known)) context.silentPools.set(name, message);
  try {
    const backend = pools.get(name)?.backend;
    const fault = await backend?.fault();
    const openHere = backend !== undefined && fault === undefined;
    const put = (pool: Pool): Pool => {
      // Other nodes' failures to open a shared pool are theirs alone.
      const elsewhere = isShared(pool) && poolNodes(pool).some((node) => node !== nodeID);
      const ready = openHere || elsewhere;
      // Refused before anything was attempted.
      const missing = error instanceof Refused && !isPoolThere(layoutOf(context, pool));
      const refused = missing ? POOL_MISSING : code;
      const reason = fault === undefined ? refused : FILESYSTEM_FAILED;
      const state = {
        ...({ status: ready ? "True" : "False", reason } as const),
        message: elsewhere ? `on node ${nodeID}: ${message}` : message,
      };
      const own = condition(pool.status, "Ready", state, host.clock.now());
      const others = (pool.status?.conditions ?? []).filter(({ type }) => type !== "Ready");
      return { ...pool, status: { ...pool.status, ready, conditions: [own, ...others] } };
    };
    const pool = await mutate(store, Pools, { name }, { change: put, subresource: "status", signal });
    events.event(pool, "Warning", "PoolFailed", message);
  } catch (cause) {
    context.logger.warn({ err: cause, pool: name }, "cannot record a failure");
  }
}
