import {
  createInformer,
  type Informer,
  type Logger,
  type ObjectStore,
  runController,
  source,
  WorkQueue,
} from "@mooring/store";
import { type VolumeAttachment, VolumeAttachments } from "../api/attachment.ts";
import { type GroupSnapshot, GroupSnapshots } from "../api/group-snapshot.ts";
import { type Pool, Pools } from "../api/pool.ts";
import { type ShareManager, ShareManagers } from "../api/share-manager.ts";
import { type Snapshot, Snapshots } from "../api/snapshot.ts";
import { isServed, type Volume, Volumes } from "../api/volume.ts";
import type { AgentContext } from "./context.ts";
import { reconcilePool } from "./pool/index.ts";
import { watchUsage } from "./pool/watch-usage.ts";
import { presentShares, reconcileShare } from "./share/index.ts";

export interface AgentInformers {
  pools: Informer<Pool>;
  volumes: Informer<Volume>;
  snapshots: Informer<Snapshot>;
  groups: Informer<GroupSnapshot>;
  attachments: Informer<VolumeAttachment>;
  shares: Informer<ShareManager>;
}

/** Usage is looked at this long after the last change in a pool, so that many at once cost one write. */
const USAGE_DELAY_MS = 250;
/** Short, because what is waited for most often, the end of a mount, sends no event. */
const BACKOFF = { maxMs: 10_000 };
const nameOf = (object: Pool | Volume | Snapshot): string => object.metadata.name;

export function createInformers(store: ObjectStore, logger: Logger): AgentInformers {
  const sourceKey = ({ spec }: Volume): string[] =>
    spec.source === undefined ? [] : [`${spec.source.kind}/${spec.source.name}`];
  return {
    pools: createInformer(store, Pools, { logger }),
    attachments: createInformer(store, VolumeAttachments, { logger }),
    shares: createInformer(store, ShareManagers, { logger }),
    volumes: createInformer(store, Volumes, {
      logger,
      indexers: { source: sourceKey, pool: ({ spec }) => [spec.pool] },
    }),
    snapshots: createInformer(store, Snapshots, {
      logger,
      indexers: { volume: ({ spec }) => [spec.volume], pool: ({ spec }) => [spec.pool] },
    }),
    groups: createInformer(store, GroupSnapshots, { logger }),
  };
}

export async function runPools(context: AgentContext, informers: AgentInformers): Promise<void> {
  const { pools, volumes, snapshots } = informers;
  const queue = new WorkQueue();
  context.pools.onTouched((name) => queue.addAfter(name, USAGE_DELAY_MS));
  // Our own usage reports come back as changes; only a change of what is wanted calls for work at once.
  pools.onChange((old, pool) => {
    const wanted = pool !== undefined && old?.metadata.generation !== pool.metadata.generation;
    const going = pool?.metadata.deletionTimestamp !== old?.metadata.deletionTimestamp;
    if (pool !== undefined && (wanted || going)) queue.add(nameOf(pool));
  });
  for (const pool of pools.list()) queue.add(nameOf(pool));
  /** The last volume that leaves lets a pool go that is being deleted. */
  const goingPool = (name: string): string[] =>
    pools.get(name)?.metadata.deletionTimestamp === undefined ? [] : [name];
  const controller = runController(
    {
      name: "pool",
      logger: context.logger,
      queue,
      sources: [
        source(pools, () => []),
        source(volumes, ({ spec }) => goingPool(spec.pool)),
        source(snapshots, ({ spec }) => goingPool(spec.pool)),
      ],
      reconcile: (name) => reconcilePool(context, informers, name),
    },
    context.signal,
  );
  await Promise.all([controller, watchUsage(context, (name) => queue.add(name))]);
}

export async function runShares(context: AgentContext, { volumes, shares }: AgentInformers): Promise<void> {
  const queue = new WorkQueue(BACKOFF);
  // What an earlier life of the agent has served, whether anybody still knows of it or not.
  for (const name of await presentShares(context.stateDir)) queue.add(name);
  await runController(
    {
      name: "share",
      logger: context.logger,
      concurrency: 4,
      queue,
      sources: [
        source(shares, ({ metadata }) => [metadata.name]),
        source(volumes, (volume) => (isServed(volume) ? [nameOf(volume)] : [])),
      ],
      reconcile: (name) => reconcileShare(context, name),
    },
    context.signal,
  );
}
