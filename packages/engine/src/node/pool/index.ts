import { existsSync } from "node:fs";
import { lstat } from "node:fs/promises";
import { getIfAny, type Informer, mutate, type ReconcileResult } from "@mooring/store";
import { isShared, type Pool, Pools, poolNodes } from "../../api/pool.ts";
import type { Snapshot } from "../../api/snapshot.ts";
import type { Volume } from "../../api/volume.ts";
import { converge } from "../../converge.ts";
import { asRecorded } from "../../errors.ts";
import type { PoolBackend, PoolUsage } from "../../pools/backend.ts";
import { absent } from "../../pools/file-images.ts";
import type { AgentContext } from "../context.ts";
import { applyPoolStep } from "./apply.ts";
import { condition } from "./conditions.ts";
import { decide, type PoolView } from "./decide.ts";
import { isPoolHere, layoutOf } from "./layout-of.ts";
import { untoldVolumes } from "./tell-volumes.ts";

const USAGE_EVERY_MS = 30_000;

export interface PoolSources {
  volumes: Informer<Volume>;
  snapshots: Informer<Snapshot>;
}

/** Opens a pool of this node, keeps its usage up to date, removes it when it is deleted and empty. */
export async function reconcilePool(
  context: AgentContext,
  sources: PoolSources,
  name: string,
): Promise<ReconcileResult> {
  // Looked at once: others write to the same disk all the time, so it would never be the same twice.
  let usage: PoolUsage | undefined;
  const usageOnce = async (backend: PoolBackend | undefined): Promise<PoolUsage | undefined> => {
    usage ??= await backend?.usage();
    return usage;
  };
  try {
    await converge({
      read: () => readPool(context, sources, name, usageOnce),
      decide: (view: PoolView) => decide(view),
      apply: (step, view) => applyPoolStep(context, step, view),
    });
  } catch (error) {
    await reportNotReady(context, name, error);
    throw error;
  }
  return context.pools.get(name) === undefined ? {} : { requeueAfterMs: USAGE_EVERY_MS };
}

async function readPool(
  context: AgentContext,
  { volumes, snapshots }: PoolSources,
  name: string,
  usageOf: (backend: PoolBackend | undefined) => Promise<PoolUsage | undefined>,
): Promise<PoolView | undefined> {
  const { store, nodeID, host, signal } = context;
  const pool = await getIfAny(store, Pools, { name }, signal);
  if (pool === undefined || !isPoolHere(context, pool)) return undefined;
  const backend = context.pools.get(name)?.backend;
  const deleting = pool.metadata.deletionTimestamp !== undefined;
  const { backing, images } = layoutOf(context, pool);
  const held = (await backend?.held()) === true;
  const own = volumes.list().filter(({ spec }) => spec.pool === name);
  return {
    pool,
    nodeID,
    onDisk: existsSync(backing?.file ?? images),
    usage: await usageOf(backend),
    limits: backend?.limits,
    fileBytes: backing === undefined ? undefined : (await lstat(backing.file).catch(absent))?.size,
    held,
    untold: backing === undefined ? [] : untoldVolumes(own, held),
    images: deleting && backend !== undefined ? (await backend.list()).map(({ id }) => id) : [],
    records: [...volumes.list(), ...snapshots.list()].filter(({ spec }) => spec.pool === name).length,
    now: host.clock.now(),
  };
}

/** A pool that is open stays ready, whatever else failed. */
async function reportNotReady(context: AgentContext, name: string, error: unknown): Promise<void> {
  if (context.signal.aborted) return;
  const { store, host, events, pools, nodeID, signal } = context;
  const { code, message } = asRecorded(error);
  const openHere = pools.get(name) !== undefined;
  try {
    const put = (pool: Pool): Pool => {
      // Other nodes' failures to open a shared pool are theirs alone.
      const elsewhere = isShared(pool) && poolNodes(pool).some((node) => node !== nodeID);
      const ready = openHere || elsewhere;
      const state = { status: ready ? "True" : "False", reason: code, message } as const;
      const own = condition(pool.status, "Ready", state, host.clock.now());
      const others = (pool.status?.conditions ?? []).filter(({ type }) => type !== "Ready");
      return { ...pool, status: { ...pool.status, ready, conditions: [own, ...others] } };
    };
    const pool = await mutate(store, Pools, { name }, put, { subresource: "status", signal });
    events.event(pool, "Warning", "PoolFailed", message);
  } catch (cause) {
    context.logger.warn({ err: cause, pool: name }, "cannot record a failure");
  }
}
