import { type Condition, defined, defineResource, type KubeObject } from "@mooring/store";
import { MOORING_GROUP, MOORING_VERSION } from "./names.ts";

/** Pools that a node makes itself, on a file system of its own. */
export const LOCAL_POOL_TYPES = ["xfs", "btrfs", "directory"] as const;
/** One of {@link LOCAL_POOL_TYPES}. */
export type LocalPoolType = (typeof LOCAL_POOL_TYPES)[number];

/** What a pool lies on: it decides how images are copied, and what a group snapshot costs. */
export const POOL_TYPES = [...LOCAL_POOL_TYPES, "rbd"] as const;
/** One of {@link POOL_TYPES}. */
export type PoolType = (typeof POOL_TYPES)[number];

/**
 * `local`: the images are on one node. `shared`: every node reaches the same Ceph cluster, or is an agent of
 * one kernel that sees the same XFS folder; an image is opened under a Lease only (see docs/decisions on shared
 * pools).
 */
export type PoolMode = "local" | "shared";

/**
 * The part of a Ceph cluster that a pool is, and how nodes get there. Names and paths only: keys are in files of the nodes.
 */
export interface RbdSpec {
  /** Name of the Ceph user, without `client.`. */
  user: string;
  /** Name of the Ceph pool. */
  pool: string;
  /** RBD namespace in it; default the one without a name. */
  namespace?: string;
  /** Absolute path of the file with the user's key, on every node; default: where the configuration file says. */
  keyring?: string;
  /** A copy that would have more images than these below it gets all its data at once; default 8. */
  flattenDepth?: number;
}

/** Where images live. Cluster scoped; names are `[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?`. */
export interface Pool extends KubeObject {
  spec: {
    type: PoolType;
    /** Default `local`; never changes. */
    mode?: PoolMode;
    /** The node that has a local pool; absent for shared ones. */
    nodeID?: string;
    /**
     * Absolute folder on that node, or the one that all nodes of a shared pool see; of type `rbd` the configuration file of
     * the Ceph cluster, the same on every node.
     */
    path: string;
    /** Where in the cluster the images are; of type `rbd` only, which is always shared. */
    rbd?: RbdSpec;
    /** Bytes of the sparse file that backs the pool when Mooring makes it itself. */
    size?: number;
    /** Promised bytes may exceed the pool's size by this factor; default 1. */
    overcommit?: number;
    /** Bytes kept free; default 5 % of the pool. */
    reserve?: number;
    /**
     * Writers wait before the pool is full, and go on when there is room, instead of failing. On trial: see
     * docs/tasks/full-pools.md.
     */
    holdWriters?: boolean;
  };
  status?: PoolStatus;
}

/** What the pool's agent reports of it. Sizes in bytes. */
export interface PoolStatus {
  /** Open on its node: images can be made. */
  ready: boolean;
  /** Nodes that have a shared pool open, in order. */
  nodes?: string[];
  totalBytes?: number;
  /** What writers can still write; nothing while they are suspended. */
  freeBytes?: number;
  /** Sizes of all volumes. */
  promisedBytes?: number;
  /** The part of it that is set aside already: the sizes of thick volumes. */
  thickBytes?: number;
  conditions?: Condition[];
}

/** True for a pool that several nodes have open, with a lease for each image. */
export function isShared(pool: Pool | undefined): boolean {
  return pool?.spec.mode === "shared";
}

/**
 * Whether volumes in such a pool can have all their room set aside. btrfs writes elsewhere what any snapshot of the pool
 * has seen, folders have no size, and a shared file system counts its room by itself.
 */
export function canBeThick(type: PoolType, shared: boolean): boolean {
  return type === "xfs" && !shared;
}

/** Whether its images have the features that Ceph's have. */
export function hasImageFeatures({ spec }: Pick<Pool, "spec">): boolean {
  return spec.type === "rbd";
}

/** Whether two nodes can have a volume of the pool open at once while its workload moves. */
export function canMigrate(pool: Pool): boolean {
  return isShared(pool);
}

/** Whether the storage below the images can shut a lost node out of them: then no time counts, only that it has. */
export function canShutOut({ spec }: Pick<Pool, "spec">): boolean {
  return spec.type === "rbd";
}

/** Where volumes of the pool can be attached. */
export function poolNodes(pool: Pool): string[] {
  if (isShared(pool)) return pool.status?.nodes ?? [];
  return pool.spec.nodeID === undefined ? [] : [pool.spec.nodeID];
}

/** Everything about a pool but how full it is, which changes all the time. */
export function withoutUsage({ status, metadata, ...pool }: Pool): Pool {
  const { name, uid = "" } = metadata;
  const { ready = false, nodes } = status ?? {};
  return { ...pool, metadata: { name, uid }, status: { ready, ...defined({ nodes }) } };
}

/** Served at `/apis/storage.mooring.dev/v1alpha1/pools`. */
export const Pools = defineResource<Pool>({
  group: MOORING_GROUP,
  version: MOORING_VERSION,
  kind: "Pool",
  plural: "pools",
  namespaced: false,
});

/** Reason of the condition `Ready` of a pool whose file system has given up under its volumes. */
export const FILESYSTEM_FAILED = "FilesystemFailed";

/** Reason of the condition `Ready` of a pool that has been made, with volumes, and is not where its object says. */
export const POOL_MISSING = "PoolMissing";

/** Reason of the condition `Ready` of a shared pool in which no node takes part. */
export const NO_NODE = "NoNode";

/** The pool's file system has given up: it is mounted anew once no volume in it is open any more. */
export function hasFailedFilesystem(pool: Pool): boolean {
  const { ready, conditions = [] } = pool.status ?? {};
  return (
    ready === false && conditions.some(({ type, reason }) => type === "Ready" && reason === FILESYSTEM_FAILED)
  );
}

/** The pool is not where its object says: it is opened once it is there, or made anew once nothing in it is wanted any more. */
export function isMissing({ status }: Pool): boolean {
  const { ready, conditions = [] } = status ?? {};
  return (
    ready === false && conditions.some(({ type, reason }) => type === "Ready" && reason === POOL_MISSING)
  );
}

/** Why the writers of the pool are suspended (condition `WritersHeld`); undefined: they are not. */
export function writersHeldMessage(pool: Pool | undefined): string | undefined {
  return trueCondition(pool, "WritersHeld")?.message;
}

/** Why writes into thin volumes of the pool fail; undefined: they do not. */
export function writesFailMessage(pool: Pool | undefined): string | undefined {
  return trueCondition(pool, "WritesFail")?.message;
}

/** Reason of the condition `WritesFail` where not the pool is full, but the disk below its file. */
export const DISK_FULL = "DiskFull";

/** What makes room where the disk below the pool is full; undefined where it is not. */
export function wayToDiskRoom(pool: Pool | undefined): string | undefined {
  if (trueCondition(pool, "WritesFail")?.reason !== DISK_FULL) return undefined;
  const { nodeID, path } = pool?.spec ?? {};
  return `make room on that disk of node ${nodeID}: df -h ${path}`;
}

/** The pool is filled above one of the levels at which its conditions change. */
export function spaceLow(pool: Pool | undefined): { reason: string; message: string } | undefined {
  const found = trueCondition(pool, "SpaceLow");
  return found && { reason: found.reason, message: found.message };
}

/** What makes room in the pool, as a next step. */
export function wayToRoom({ spec: { rbd } }: Pick<Pool, "spec">): string {
  if (rbd === undefined) return "delete volumes or snapshots in it, or make it larger";
  const enlarge = `raise its quota (ceph osd pool set-quota ${rbd.pool} max_bytes BYTES) or add OSDs`;
  const commands = "ceph df detail and ceph health detail show what is full";
  // Ceph removes nothing in a namespace of a full pool.
  const remove = "delete volumes or snapshots in it";
  return rbd.namespace === undefined
    ? `${remove}, ${enlarge}; ${commands}`
    : `${enlarge}, then ${remove}; ${commands}`;
}

/** Writers wait when the pool is full, and go on when there is room; else their writes fail. */
export function suspendsWriters({ spec }: Pick<Pool, "spec">): boolean {
  return spec.holdWriters === true || spec.type === "rbd";
}

function trueCondition(pool: Pool | undefined, wanted: string): Condition | undefined {
  return pool?.status?.conditions?.find(({ type, status }) => type === wanted && status === "True");
}
