import { getIfAny, type Reader } from "@mooring/store";
import { type GroupSnapshot, GroupSnapshots } from "../../../api/group-snapshot.ts";
import { withoutHeartbeat } from "../../../api/node-agent.ts";
import { isShared, type Pool, withoutUsage } from "../../../api/pool.ts";
import { type Snapshot, Snapshots } from "../../../api/snapshot.ts";
import { type Volume, Volumes } from "../../../api/volume.ts";
import type { ServicesContext } from "../context.ts";
import type { NodeClaims } from "./claims.ts";
import { isInBarrier, mayPlace } from "./states.ts";
import type { CoordinatorView } from "./view.ts";

/** The topic that changes when a group enters or leaves its barrier. */
export const NODE_CLAIMS = "node claims";

type Around = Omit<CoordinatorView, "group" | "snapshots" | "claimed" | "now">;

/** Undefined: the group is gone. */
export async function readGroup(
  context: ServicesContext,
  claims: NodeClaims,
  reader: Reader,
  name: string,
): Promise<CoordinatorView | undefined> {
  const { now, signal } = context;
  const group = await getIfAny(reader.store, GroupSnapshots, { name }, signal);
  if (group === undefined) return undefined;
  const snapshots = group.spec.members.map((member) =>
    getIfAny(reader.store, Snapshots, { name: member.snapshot }, signal),
  );
  return {
    group,
    snapshots: byName(await Promise.all(snapshots)),
    // A group that is made, or has failed, has nothing to do with where its members are now.
    ...(mayPlace(group) ? await readAround(context, claims, reader, group) : NOTHING),
    claimed: !isInBarrier(group) || claims.has(name),
    now: now(),
  };
}

const NOTHING: Around = {
  volumes: new Map(),
  poolNodes: new Map(),
  sharedPools: new Set(),
  readyNodes: new Set(),
  busyNodes: new Set(),
};

async function readAround(
  { informers, signal }: ServicesContext,
  claims: NodeClaims,
  reader: Reader,
  group: GroupSnapshot,
): Promise<Around> {
  const volumes = group.spec.members.map(({ volume }) =>
    getIfAny(reader.store, Volumes, { name: volume }, signal),
  );
  const pools = reader.over(informers.pools, withoutUsage).list();
  const nodes = reader.over(informers.nodes, withoutHeartbeat).list();
  reader.topic(NODE_CLAIMS);
  return {
    volumes: byName(await Promise.all(volumes)),
    poolNodes: homes(pools),
    sharedPools: new Set(pools.filter(isShared).map(({ metadata }) => metadata.name)),
    readyNodes: new Set(
      nodes.filter(({ status }) => status?.state === "Ready").map(({ metadata }) => metadata.name),
    ),
    busyNodes: claims.others(group.metadata.name),
  };
}

/** Only local pools have one. */
function homes(pools: readonly Pool[]): Map<string, string> {
  const local = pools.flatMap(({ metadata, spec }): [string, string][] =>
    spec.nodeID === undefined ? [] : [[metadata.name, spec.nodeID]],
  );
  return new Map(local);
}

function byName<T extends Volume | Snapshot>(objects: readonly (T | undefined)[]): Map<string, T> {
  const found = objects.filter((object) => object !== undefined);
  return new Map(found.map((object) => [object.metadata.name, object]));
}
