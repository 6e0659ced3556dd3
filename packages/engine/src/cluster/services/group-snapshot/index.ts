import { isNotFound, mutate, runController, source } from "@mooring/store";
import { type GroupSnapshot, GroupSnapshots } from "../../../api/group-snapshot.ts";
import { isShared, type Pool } from "../../../api/pool.ts";
import { type Snapshot, Snapshots } from "../../../api/snapshot.ts";
import { type Volume, Volumes } from "../../../api/volume.ts";
import { asRecorded } from "../../../errors.ts";
import type { ServicesContext } from "../context.ts";
import { NodeClaims } from "./claims.ts";
import { reconcileGroup } from "./reconcile.ts";
import { NEW } from "./statuses.ts";
import type { CoordinatorView } from "./view.ts";

const IN_BARRIER: ReadonlySet<string | undefined> = new Set(["quiescing", "cutting", "releasing"]);
const ENDED: ReadonlySet<string | undefined> = new Set([
  "committed",
  "ready",
  "failing",
  "failed",
  "deleting",
]);

/**
 * Leads every GroupSnapshot from the wish to snapshots of all members at one moment, or to nothing: makes the
 * records, gives the word for each phase of the barrier, commits, removes.
 */
export function runGroupSnapshots(context: ServicesContext): Promise<void> {
  const { store, logger, informers, signal } = context;
  const { groups, nodes, snapshots, volumes } = informers;
  const claims = new NodeClaims();
  groups.onChange((old, group) => {
    const { name = "" } = (group ?? old)?.metadata ?? {};
    const { state, nodes: members = {} } = group?.status ?? {};
    // Barriers of an earlier life. News of one that we began ourselves may be older than what we know of it.
    if (old === undefined && IN_BARRIER.has(state)) claims.take(name, Object.keys(members));
    else if (group === undefined || ENDED.has(state)) claims.drop(name);
  });
  const waiting = (): GroupSnapshot[] =>
    groups.list().filter(({ status }) => status === undefined || status.state === "preparing");
  const waitingFor = (volume: string): GroupSnapshot[] =>
    waiting().filter(({ spec }) => spec.members.some((member) => member.volume === volume));
  const waitingOn = (node: string): GroupSnapshot[] =>
    waiting().filter(({ status }) => status?.members?.some(({ nodeID }) => nodeID === node));
  const nameOf = ({ metadata }: GroupSnapshot): string => metadata.name;
  return runController(
    {
      name: "group-snapshot",
      logger,
      backoff: { maxMs: 10_000 },
      sources: [
        // The end of one barrier lets the next begin.
        source(groups, (group) => [
          nameOf(group),
          ...(IN_BARRIER.has(group.status?.state) ? waiting().map(nameOf) : []),
        ]),
        source(snapshots, ({ spec }) => (spec.group === undefined ? [] : [spec.group])),
        source(nodes, ({ metadata }) => waitingOn(metadata.name).map(nameOf)),
        source(volumes, ({ metadata }) => waitingFor(metadata.name).map(nameOf)),
      ],
      reconcile: async (name) => {
        try {
          return await reconcileGroup(
            { store, signal, claims, read: (key) => read(context, claims, key) },
            name,
          );
        } catch (error) {
          await tell(context, name, error);
          throw error;
        }
      },
    },
    signal,
  );
}

async function read(
  { store, informers, now, signal }: ServicesContext,
  claims: NodeClaims,
  name: string,
): Promise<CoordinatorView | undefined> {
  const group = await store.get(GroupSnapshots, { name }, signal).catch(orAbsent);
  if (group === undefined) return undefined;
  // Also when the write that began the barrier seemed to fail.
  if (IN_BARRIER.has(group.status?.state)) claims.take(name, Object.keys(group.status?.nodes ?? {}));
  const { members } = group.spec;
  const volumes = members.map((m) => store.get(Volumes, { name: m.volume }, signal).catch(orAbsent));
  const snapshots = members.map((m) => store.get(Snapshots, { name: m.snapshot }, signal).catch(orAbsent));
  return {
    group,
    volumes: byName(await Promise.all(volumes)),
    snapshots: byName(await Promise.all(snapshots)),
    poolNodes: homes(informers.pools.list()),
    sharedPools: new Set(
      informers.pools.list().flatMap((pool) => (isShared(pool) ? [pool.metadata.name] : [])),
    ),
    readyNodes: new Set(
      informers.nodes
        .list()
        .flatMap(({ metadata, status }) => (status?.state === "Ready" ? [metadata.name] : [])),
    ),
    busyNodes: claims.others(name),
    now: now(),
  };
}

/** Only local pools have one. */
function homes(pools: readonly Pool[]): Map<string, string> {
  const local = pools.flatMap(({ metadata, spec }): [string, string][] =>
    spec.nodeID === undefined ? [] : [[metadata.name, spec.nodeID]],
  );
  return new Map(local);
}

function orAbsent(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

function byName<T extends Volume | Snapshot>(objects: readonly (T | undefined)[]): Map<string, T> {
  const found = objects.filter((object) => object !== undefined);
  return new Map(found.map((object) => [object.metadata.name, object]));
}

/** What stands in the way for now. */
async function tell({ store, signal, logger }: ServicesContext, name: string, error: unknown): Promise<void> {
  if (signal.aborted) return;
  const put = (group: GroupSnapshot): void => {
    group.status = { ...(group.status ?? NEW), error: asRecorded(error) };
  };
  const options = { subresource: "status", signal } as const;
  await mutate(store, GroupSnapshots, { name }, put, options).catch((cause: unknown) => {
    logger.warn({ err: cause, group: name }, "cannot record a failure");
  });
}
