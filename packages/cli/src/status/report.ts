import { DEFAULT_OVERCOMMIT, NodeAgents, type Pool, Pools, Snapshots, Volumes } from "@mooring/engine";
import { VolumeGroupRestores, VolumeGroups } from "@mooring/sidecars";
import {
  defined,
  type KubeObject,
  type ObjectStore,
  PersistentVolumeClaims,
  PersistentVolumes,
  Pods,
  type Resource,
  VolumeGroupSnapshots,
  VolumeSnapshots,
} from "@mooring/store";
import type { Check } from "../doctor/check.ts";
import { withoutMissingKinds } from "../doctor/missing-kinds.ts";
import { objectChecks } from "../doctor/object-checks.ts";
import { listingOnce } from "./listing-once.ts";

/** How many objects of a kind are in which state, such as `{ Bound: 3, Pending: 1 }`. */
export interface Count {
  kind: string;
  total: number;
  states: Record<string, number>;
}

/** Sizes are in bytes. */
export interface PoolReport {
  name: string;
  type: string;
  /** The node that has it; absent for shared pools. */
  node?: string;
  ready: boolean;
  totalBytes?: number;
  freeBytes?: number;
  /** The sum of what its volumes may grow to. */
  promisedBytes?: number;
  /** How much of that is set aside. */
  thickBytes?: number;
  /** All volumes together may be so many times as large as the pool. */
  overcommit: number;
  path: string;
}

/** What `mooring status` prints. */
export interface StatusReport {
  nodes: { name: string; state: string }[];
  pools: PoolReport[];
  counts: Count[];
  /** What is wrong, or waits for too long. */
  troubles: Check[];
}

type WithStatus = KubeObject & {
  status?: {
    phase?: string;
    state?: string;
    readyToUse?: boolean;
    robustness?: string;
    conditions?: { type: string; status: string }[];
  };
};

const byPhase = ({ status }: WithStatus): string => status?.phase ?? "Pending";
const byState = ({ status }: WithStatus): string => status?.state ?? "creating";
const byReadiness = ({ status }: WithStatus): string => (status?.readyToUse === true ? "ready" : "not ready");
const byCondition = ({ status }: WithStatus): string =>
  status?.conditions?.find(({ type }) => type === "Ready")?.status === "True" ? "ready" : "not ready";

const COUNTED: readonly [resource: Resource, stateOf: (object: WithStatus) => string][] = [
  [Pods, byPhase],
  [PersistentVolumeClaims, byPhase],
  [PersistentVolumes, byPhase],
  [VolumeSnapshots, byReadiness],
  [VolumeGroupSnapshots, byReadiness],
  [VolumeGroupRestores, byPhase],
  [VolumeGroups, byCondition],
  [Volumes, byState],
  [Snapshots, byReadiness],
];

/**
 * Everything that `mooring status` shows. A kind that the cluster does not have is among the troubles. Each kind is listed once: a pool
 * that becomes ready meanwhile would be shown as not ready, with nothing said to be wrong.
 */
export async function statusReport(api: ObjectStore, now: Date): Promise<StatusReport> {
  const server = listingOnce(api);
  const { missing, store } = withoutMissingKinds(server);
  const [agents, pools, counts, checks] = await Promise.all([
    store.list(NodeAgents),
    store.list(Pools),
    Promise.all(COUNTED.map(([resource, stateOf]) => count(store, resource, stateOf))),
    objectChecks(server, now),
  ]);
  return {
    nodes: agents.items.map(({ metadata, status }) => ({
      name: metadata.name,
      state: status?.state ?? "Unknown",
    })),
    pools: pools.items.map(poolReport),
    counts: counts.filter(({ kind }) => ![...missing].some((each) => each.kind === kind)),
    troubles: checks.filter(({ state }) => state !== "ok"),
  };
}

async function count(
  store: ObjectStore,
  resource: Resource,
  stateOf: (object: WithStatus) => string,
): Promise<Count> {
  const { items } = await store.list(resource);
  const states: Record<string, number> = {};
  for (const item of items) {
    const state = item.metadata.deletionTimestamp === undefined ? stateOf(item as WithStatus) : "deleting";
    states[state] = (states[state] ?? 0) + 1;
  }
  return { kind: resource.kind, total: items.length, states };
}

function poolReport({ metadata, spec, status }: Pool): PoolReport {
  const { totalBytes, freeBytes, promisedBytes, thickBytes } = status ?? {};
  const { overcommit = DEFAULT_OVERCOMMIT, path } = spec;
  return {
    ...{ name: metadata.name, type: spec.type, ready: status?.ready === true },
    ...{ overcommit, path },
    ...defined({ node: spec.nodeID, totalBytes, freeBytes, promisedBytes, thickBytes }),
  };
}
