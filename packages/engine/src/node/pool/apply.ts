import { rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { defined, type Outcome, removeFinalizer } from "@mooring/store";
import { ENGINE_FINALIZER } from "../../api/names.ts";
import { isShared, type Pool, Pools } from "../../api/pool.ts";
import { removeHalfMade } from "../../pools/backing-file.ts";
import { forgetBacking } from "../../pools/backing-record.ts";
import { createPool } from "../../pools/create-pool.ts";
import { removeKeeperFiles } from "../../pools/keeper/keeper.ts";
import { keptPool } from "../../pools/keeper/kept-pool.ts";
import type { PoolLayout } from "../../pools/layout.ts";
import { CLIENT_CONF } from "../../pools/rbd/client-conf.ts";
import type { AgentContext } from "../context.ts";
import { releaseDevices } from "../release-devices.ts";
import { news } from "./conditions.ts";
import { limitsOf, type PoolStep, type PoolView, suspendsWriters } from "./decide.ts";
import { joinPool, layoutOf } from "./layout-of.ts";
import { reportToVolumes } from "./report-to-volumes.ts";

/** Makes the one change that a decision asks for. */
export async function applyPoolStep(
  context: AgentContext,
  step: Exclude<PoolStep, Outcome>,
  { pool }: PoolView,
): Promise<void> {
  const { store, signal } = context;
  const { name } = pool.metadata;
  switch (step.do) {
    case "add-finalizer": {
      const finalizers = [...(pool.metadata.finalizers ?? []), ENGINE_FINALIZER];
      await store.update(Pools, { ...pool, metadata: { ...pool.metadata, finalizers } }, { signal });
      return;
    }
    case "remove-finalizer":
      // A kill may have come between the pool's file and the folder it was in.
      await removeFolder(layoutOf(context, pool));
      await removeFinalizer(store, { resource: Pools, key: { name } }, ENGINE_FINALIZER, signal);
      return;
    case "join":
      joinPool(context, pool);
      return;
    case "report-no-node":
      await store.updateStatus(Pools, { ...pool, status: step.status }, { signal });
      return;
    case "open":
      await open(context, pool);
      return;
    case "close-idle": {
      const failed = context.pools.get(name);
      if (failed !== undefined) await releaseDevices(context, failed);
      return;
    }
    case "reopen":
      await context.pools.get(name)?.backend.reopen();
      context.events.event(pool, "Normal", "PoolMounted", "the pool's file system has been mounted anew");
      return;
    case "limit":
      context.pools.get(name)?.backend.limit(step.limits);
      return;
    case "hold-writers":
      await context.pools.get(name)?.backend.holdWriters(step.wanted);
      return;
    case "enlarge":
      await context.pools.get(name)?.backend.enlarge(step.size);
      return;
    case "record-usage": {
      await store.updateStatus(Pools, { ...pool, status: step.status }, { signal });
      for (const { type, reason, message } of news(pool.status?.conditions, step.status.conditions ?? [])) {
        context.events.event(pool, type, reason, message);
      }
      return;
    }
    case "report-to-volumes":
      await reportToVolumes(context, pool, step.names);
      return;
    case "remove":
      await remove(context, name);
  }
}

async function open(context: AgentContext, pool: Pool): Promise<void> {
  const { host, pools, nodeID } = context;
  const { metadata, spec } = pool;
  const layout = layoutOf(context, pool);
  const bare = createPool(spec.type, {
    host,
    path: layout.folder,
    ...(isShared(pool) && !layout.remote ? { shared: { source: spec.path, nodeID } } : {}),
    ...(spec.rbd === undefined ? {} : { rbd: { nodeID, place: { conf: spec.path, ...spec.rbd } } }),
    ...defined({ size: spec.size }),
    ...limitsOf(pool),
  });
  const backend = isShared(pool) ? bare : keptPool(bare, host, layout, suspendsWriters(pool));
  await backend.open();
  pools.set({ name: metadata.name, backend, layout });
}

async function remove({ pools }: AgentContext, name: string): Promise<void> {
  const pool = pools.get(name);
  if (pool === undefined) return;
  await pool.backend.close();
  pools.delete(name);
  await removeFolder(pool.layout);
}

/** Only what a pool makes, one by one: whatever else lies in the folder is an operator's. */
async function removeFolder({ folder, backing, shared, remote, images, lock }: PoolLayout): Promise<void> {
  if (remote) await rm(join(folder, CLIENT_CONF), { force: true });
  if (shared !== undefined) await rmdir(shared.mount).catch(left);
  else if (backing === undefined) await rmdir(images).catch(left);
  else {
    await rmdir(backing.mount).catch(left);
    await forgetBacking(folder);
    await rm(backing.file, { force: true });
    await removeHalfMade(folder);
    await removeKeeperFiles(folder);
  }
  await rm(lock, { force: true });
  await rmdir(folder).catch(left);
}

/** What is gone already is fine, what is not empty, and a folder that an operator has mounted something on. */
const LEFT: ReadonlySet<unknown> = new Set(["ENOENT", "ENOTEMPTY", "EBUSY"]);

function left(error: unknown): void {
  if (!LEFT.has((error as NodeJS.ErrnoException).code)) throw error;
}
