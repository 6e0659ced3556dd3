import { DONE, defined, hasFinalizer, isDeleting, type Outcome, wait } from "@mooring/store";
import { ENGINE_FINALIZER } from "../../api/names.ts";
import { isShared, NO_NODE, type Pool, type PoolStatus, poolNodes } from "../../api/pool.ts";
import type { PoolLimits, PoolUsage } from "../../pools/backend.ts";
import type { PoolFault } from "../../pools/pool-fault.ts";
import { fail } from "../../refused.ts";
import { condition, openConditions, sameConditions } from "./conditions.ts";
import { type GonePool, refuseAnew } from "./gone.ts";

/** Everything that a decision about a pool may depend on. */
export interface PoolView {
  pool: Pool;
  /** This node. */
  nodeID: string;
  /** Absent: not open in this process. */
  usage: PoolUsage | undefined;
  /** What it goes by while it is open. */
  limits: PoolLimits | undefined;
  /** Its writers wait before it is full; absent: not open in this process. */
  holds?: boolean | undefined;
  /** Bytes of the file behind it; undefined: there is none. */
  fileBytes?: number | undefined;
  /** Its file system has failed under its volumes. */
  fault?: PoolFault | undefined;
  /** Its writers are suspended. */
  suspended?: boolean;
  /** Volumes whose records differ from that. */
  unreported?: readonly string[];
  /** There is something of the pool on the disk. */
  onDisk: boolean;
  /** It has been made, with what is in it, and nothing of it is there. */
  gone?: GonePool | undefined;
  /** Ids of the images that are in the pool. */
  images: readonly string[];
  /** Volumes and snapshots that are in this pool by their records. */
  records: number;
  now: Date;
  /** A shared pool in which this node takes no part: whether it can. Absent: it takes part. */
  apart?: { canJoin: boolean };
}

/** One step for a pool of this node. */
export type PoolStep =
  | Outcome
  | { do: "add-finalizer" }
  | { do: "remove-finalizer" }
  | { do: "open" }
  | { do: "close-idle" }
  | { do: "reopen" }
  | { do: "limit"; limits: PoolLimits }
  | { do: "hold-writers"; wanted: boolean }
  | { do: "enlarge"; size: number }
  | { do: "record-usage"; status: PoolStatus }
  | { do: "report-to-volumes"; names: readonly string[] }
  | { do: "join" }
  | { do: "report-no-node"; status: PoolStatus }
  | { do: "remove" };

/** How often it is looked whether the file has come by which a node can join a pool; and whoever makes a pool has it open by then. */
const JOIN_EVERY_MS = 5000;

/** The next step for a pool of this node. Pure. */
export function decide(view: PoolView): PoolStep {
  const { pool, usage, fault, unreported = [] } = view;
  if (view.apart !== undefined) return fromApart(view, view.apart);
  const protectedByUs = hasFinalizer(pool, ENGINE_FINALIZER);
  if (isDeleting(pool)) return protectedByUs ? deletion(view) : DONE;
  if (!protectedByUs) return { do: "add-finalizer" };
  if (view.gone !== undefined) return refuseAnew(pool.metadata.name, view.gone);
  if (usage === undefined) return { do: "open" };
  if (fault !== undefined) return underFault(fault);
  const limits = limitsOf(pool);
  if (!sameLimits(view.limits, limits)) return { do: "limit", limits };
  const wanted = suspendsWriters(pool);
  if (view.holds !== undefined && view.holds !== wanted) return { do: "hold-writers", wanted };
  const { size } = pool.spec;
  if (size !== undefined && view.fileBytes !== undefined && view.fileBytes < size)
    return { do: "enlarge", size };
  const status = readyStatus(view, usage);
  if (status !== undefined) return { do: "record-usage", status };
  return unreported.length === 0 ? DONE : { do: "report-to-volumes", names: unreported };
}

/** Of a pool that nobody has somebody has to say so, or it looks as if it were about to be opened. */
function fromApart({ pool, now }: PoolView, { canJoin }: { canJoin: boolean }): PoolStep {
  if (isDeleting(pool)) return DONE;
  if (canJoin) return { do: "join" };
  const { status, spec, metadata } = pool;
  const unreported = poolNodes(pool).length === 0 && status?.conditions === undefined;
  const age = now.getTime() - Date.parse(metadata.creationTimestamp ?? now.toISOString());
  if (!unreported) return spec.type === "rbd" ? wait(JOIN_EVERY_MS) : DONE;
  if (age < JOIN_EVERY_MS) return wait(JOIN_EVERY_MS);
  const why = spec.type === "rbd" ? `none has ${spec.path}` : "an object alone makes none take part";
  const state = { status: "False" as const, reason: NO_NODE, message: `no node has it: ${why}` };
  return {
    do: "report-no-node",
    status: { ready: false, conditions: [condition(status, "Ready", state, now)] },
  };
}

/**
 * Devices of a failed pool that no workload uses are closed although tickets want them: a pod that comes back by itself
 * wants its device at once, and so one would be open for ever.
 */
function underFault(fault: PoolFault): PoolStep {
  if (fault.devices === 0) return { do: "reopen" };
  return fault.idle > 0 ? { do: "close-idle" } : failed(fault);
}

/**
 * The pool's file system has failed: no write succeeds, those of its volumes' file systems neither. Their devices can still
 * be closed.
 */
function failed({ message, devices }: PoolFault): PoolStep {
  const what = `${message}: every write to its volumes fails`;
  const volumes = devices === 1 ? "the one volume" : `the ${devices} volumes`;
  const next = `end the pods that use ${volumes} open in it: then it is mounted anew; the kernel's log (dmesg) has the cause`;
  return fail("UNAVAILABLE", what, next);
}

/** The limits that the pool's object asks for. */
export function limitsOf({ spec: { overcommit, reserve } }: Pool): PoolLimits {
  return {
    ...defined({ overcommit, reserve }),
  };
}

/** The pool's object asks that writers wait before it is full, and it is one whose file system is all its own. */
export function suspendsWriters(pool: Pool): boolean {
  const { type, holdWriters } = pool.spec;
  return holdWriters === true && !isShared(pool) && (type === "xfs" || type === "btrfs");
}

function sameLimits(a: PoolLimits | undefined, b: PoolLimits): boolean {
  return a?.overcommit === b.overcommit && a?.reserve === b.reserve;
}

/** A pool goes when nothing is in it, neither by the records nor on the disk. */
function deletion({ pool, usage, onDisk, images, records }: PoolView): PoolStep {
  const { name } = pool.metadata;
  if (records > 0) {
    return fail("FAILED_PRECONDITION", `pool ${name} still has ${records} volumes and snapshots`);
  }
  if (images.length > 0) {
    const message = `pool ${name} has images that no record explains: ${images.slice(0, 5).join(", ")}`;
    return fail("FAILED_PRECONDITION", message, "check them, then remove them by hand; see: mooring doctor");
  }
  // Of a cluster that nobody ever got into nothing is ours, and what keeps it closed would keep the object.
  const neverOpen = pool.spec.type === "rbd" && poolNodes(pool).length === 0;
  if (usage === undefined && (!onDisk || neverOpen)) return { do: "remove-finalizer" };
  // Opened once more if need be: only an open pool can be read as empty.
  return usage === undefined ? { do: "open" } : { do: "remove" };
}

/** Undefined when the pool's status has all this already. */
function readyStatus(
  { pool, nodeID, suspended = false, now }: PoolView,
  { keptBytes = 0, ...usage }: PoolUsage,
): PoolStatus | undefined {
  const { status } = pool;
  const nodes = isShared(pool) ? { nodes: [...new Set([...poolNodes(pool), nodeID])].sort() } : {};
  const conditions = openConditions(pool, { ...usage, keptBytes }, suspended, now);
  const unchanged =
    status?.ready === true &&
    status.totalBytes === usage.totalBytes &&
    status.freeBytes === usage.freeBytes &&
    status.promisedBytes === usage.promisedBytes &&
    (status.thickBytes ?? 0) === usage.thickBytes &&
    sameConditions(status.conditions, conditions) &&
    (nodes.nodes === undefined || nodes.nodes.length === status.nodes?.length);
  return unchanged ? undefined : { ready: true, ...usage, ...nodes, conditions };
}
