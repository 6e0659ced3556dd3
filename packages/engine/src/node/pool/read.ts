import { existsSync } from "node:fs";
import { lstat } from "node:fs/promises";
import { getIfAny, type Informer, type Reader } from "@mooring/store";
import { isShared, type Pool, Pools, withoutUsage } from "../../api/pool.ts";
import type { Snapshot } from "../../api/snapshot.ts";
import type { Volume } from "../../api/volume.ts";
import type { PoolBackend, PoolUsage } from "../../pools/backend.ts";
import { absent } from "../../pools/file-images.ts";
import type { AgentContext } from "../context.ts";
import type { PoolView } from "./decide.ts";
import { goneWith } from "./gone.ts";
import { canJoin, isPoolHere, layoutOf } from "./layout-of.ts";
import { unreportedVolumes, writersReport, writersState } from "./report-to-volumes.ts";

interface PoolSources {
  pools: Informer<Pool>;
  /** Indexed by `pool`, both; volumes that report stopped or failing writers also by `stopped-in-pool`. */
  volumes: Informer<Volume>;
  snapshots: Informer<Snapshot>;
}

/** Read once for each time a pool is worked on: others write to the disk, so it would never be the same twice. */
export class UsageOnce {
  readonly #usages = new Map<string, PoolUsage>();

  async of(name: string, backend: PoolBackend | undefined): Promise<PoolUsage | undefined> {
    // Closed by a step before: what was read of it is no sign any more that it is open.
    if (backend === undefined) {
      this.forget(name);
      return undefined;
    }
    const usage = this.#usages.get(name) ?? (await backend.usage());
    this.#usages.set(name, usage);
    return usage;
  }

  forget(name: string): void {
    this.#usages.delete(name);
  }
}

/**
 * A pool as its object and the disk are. What is used of it changes all the time, and each node that has it reports it:
 * that is read every now and then, and noted is the rest.
 */
export async function readPool(
  context: AgentContext,
  { pools, volumes, snapshots }: PoolSources,
  name: string,
  { reader, usage, dry = false }: { reader: Reader; usage: UsageOnce; dry?: boolean },
): Promise<PoolView | undefined> {
  const { store, nodeID, host, signal } = context;
  reader.over(pools, wanted).get(name);
  const pool = await getIfAny(store, Pools, { name }, signal);
  if (pool === undefined) return undefined;
  if (!isPoolHere(context, pool)) return isShared(pool) ? apartFrom(context, pool) : undefined;
  const backend = context.pools.get(name)?.backend;
  const deleting = pool.metadata.deletionTimestamp !== undefined;
  const layout = layoutOf(context, pool);
  const { backing, images } = layout;
  const suspended = (await backend?.writersSuspended()) === true;
  const state = writersState(pool);
  // While all is well, only those count that say otherwise: a pool may have ten thousand volumes, and each change asks here.
  const index = state.suspended || state.fail ? "pool" : "stopped-in-pool";
  const reported = reader.over(volumes, writersReport).byIndex(index, name);
  const unreported = backing === undefined ? [] : unreportedVolumes(reported, state);
  return {
    ...{ pool, nodeID, suspended, unreported, fault: await backend?.fault() },
    onDisk: existsSync(backing?.file ?? images),
    gone: backend === undefined ? goneWith(layout, name, { reader, volumes, snapshots }) : undefined,
    // What is kept is for the steps that follow: a dry read has none.
    usage: dry ? await backend?.usage() : await usage.of(name, backend),
    limits: backend?.limits,
    holds: backend?.holdsWriters(),
    fileBytes: backing === undefined ? undefined : (await lstat(backing.file).catch(absent))?.size,
    images: deleting && backend !== undefined ? (await backend.list()).map(({ id }) => id) : [],
    // The last volume that leaves lets a pool go that is being deleted.
    records: deleting
      ? [volumes, snapshots].reduce((sum, kind) => sum + recordsIn(reader, kind, name), 0)
      : 0,
    now: host.clock.now(),
  };
}

/** This node has nothing of it, and knows no more of it than its object. */
function apartFrom(context: AgentContext, pool: Pool): PoolView {
  const nothing = { usage: undefined, limits: undefined, onDisk: false, images: [], records: 0 };
  const { nodeID, host } = context;
  return { pool, nodeID, ...nothing, now: host.clock.now(), apart: { canJoin: canJoin(context, pool) } };
}

function recordsIn(reader: Reader, kind: Informer<Volume> | Informer<Snapshot>, pool: string): number {
  // Only counted, whatever they are.
  return reader.over(kind as Informer<Volume>).byIndex("pool", pool).length;
}

/** Of a pool what is asked of it: our own reports of what is used come back as changes, too. */
function wanted(pool: Pool): object {
  const { finalizers = [], deletionTimestamp = "" } = pool.metadata;
  return { ...withoutUsage(pool), finalizers, deletionTimestamp };
}
