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
import { reconcileGroup } from "./group-snapshot/index.ts";
import { watchHealth } from "./health/index.ts";
import { reconcilePool } from "./pool/index.ts";
import { presentShares, reconcileShare } from "./share/index.ts";
import { reconcileSnapshot } from "./snapshot/index.ts";
import { reconcileVolume } from "./volume/index.ts";

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

export function runPools(context: AgentContext, informers: AgentInformers): Promise<void> {
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
  return runController(
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
}

export function runVolumes(
  context: AgentContext,
  { volumes, snapshots, attachments }: AgentInformers,
): Promise<void> {
  const queue = new WorkQueue(BACKOFF);
  const shared = () =>
    context.pools
      .list()
      .filter(({ layout }) => layout.shared !== undefined)
      .flatMap(({ name }) => volumes.byIndex("pool", name).map(nameOf));
  // Whose volumes of shared pools are may change with every node that comes or goes.
  context.sharing?.agents.onChange((old, agent) => {
    if (old?.status?.state !== agent?.status?.state) for (const name of shared()) queue.add(name);
  });
  context.sharing?.onTurn((image) => queue.add(image));
  const copiesOf = (kind: "Volume" | "Snapshot", name: string): string[] =>
    volumes
      .byIndex("source", `${kind}/${name}`)
      .filter(({ status }) => status?.size === undefined)
      .map(nameOf);
  context.pools.onOpened((pool) => {
    for (const volume of volumes.byIndex("pool", pool)) queue.add(nameOf(volume));
  });
  const health = watchHealth(context, volumes, queue);
  const controller = runController(
    {
      name: "volume",
      logger: context.logger,
      concurrency: 8,
      queue,
      sources: [
        source(volumes, (volume) => [nameOf(volume), ...copiesOf("Volume", nameOf(volume))]),
        source(snapshots, (snapshot) => copiesOf("Snapshot", nameOf(snapshot))),
        // A second job may come to a volume that is out of reach of workloads already.
        source(attachments, ({ metadata: { name } }) =>
          volumes.get(name)?.spec.disableFrontend === true ? [name] : [],
        ),
      ],
      reconcile: (name) => reconcileVolume(context, name),
    },
    context.signal,
  );
  return Promise.all([controller, health]).then(() => {});
}

export function runSnapshots(
  context: AgentContext,
  { volumes, snapshots, groups }: AgentInformers,
): Promise<void> {
  const queue = new WorkQueue(BACKOFF);
  context.pools.onOpened((pool) => {
    for (const snapshot of snapshots.byIndex("pool", pool)) queue.add(nameOf(snapshot));
  });
  return runController(
    {
      name: "snapshot",
      logger: context.logger,
      queue,
      sources: [
        source(snapshots, (snapshot) => [nameOf(snapshot)]),
        source(volumes, (volume) =>
          snapshots
            .byIndex("volume", nameOf(volume))
            .filter(({ status }) => status?.readyToUse !== true)
            .map(nameOf),
        ),
        // Its members become ready when it is committed.
        source(groups, ({ spec, status }) =>
          status?.state === "committed" ? spec.members.map(({ snapshot }) => snapshot) : [],
        ),
      ],
      reconcile: (name) => reconcileSnapshot(context, name),
    },
    context.signal,
  );
}

export function runGroups(context: AgentContext, { groups }: AgentInformers): Promise<void> {
  const queue = new WorkQueue(BACKOFF);
  context.sessions.onExpired((name) => queue.add(name));
  context.pools.onOpened(() => {
    for (const { metadata } of groups.list()) queue.add(metadata.name);
  });
  return runController(
    {
      name: "group-snapshot",
      logger: context.logger,
      queue,
      sources: [source(groups, ({ metadata }) => [metadata.name])],
      reconcile: (name) => reconcileGroup(context, name),
    },
    context.signal,
  );
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
