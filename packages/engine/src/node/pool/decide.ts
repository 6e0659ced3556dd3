import { type Condition, hasFinalizer, isDeleting } from "@mooring/store";
import { ENGINE_FINALIZER } from "../../api/names.ts";
import { isShared, type Pool, type PoolStatus, poolNodes } from "../../api/pool.ts";
import { type EndStep, fail, REST } from "../../converge.ts";
import type { PoolLimits, PoolUsage } from "../../pools/backend.ts";

/** Everything that a decision about a pool may depend on. */
export interface PoolView {
  pool: Pool;
  /** This node. */
  nodeID: string;
  /** Absent: not open in this process. */
  usage: PoolUsage | undefined;
  /** What it goes by while it is open. */
  limits: PoolLimits | undefined;
  /** There is something of the pool on the disk. */
  onDisk: boolean;
  /** Ids of the images that are in the pool. */
  images: readonly string[];
  /** Volumes and snapshots whose records say that they are in this pool. */
  records: number;
  now: Date;
}

export type PoolStep =
  | EndStep
  | { do: "add-finalizer" }
  | { do: "remove-finalizer" }
  | { do: "open" }
  | { do: "limit"; limits: PoolLimits }
  | { do: "record-usage"; status: PoolStatus }
  | { do: "remove" };

/** The next step for a pool of this node. Pure. */
export function decide(view: PoolView): PoolStep {
  const { pool, usage } = view;
  const held = hasFinalizer(pool, ENGINE_FINALIZER);
  if (isDeleting(pool)) return held ? deletion(view) : REST;
  if (!held) return { do: "add-finalizer" };
  if (usage === undefined) return { do: "open" };
  const limits = limitsOf(pool);
  if (!sameLimits(view.limits, limits)) return { do: "limit", limits };
  const status = readyStatus(view, usage);
  return status === undefined ? REST : { do: "record-usage", status };
}

/** The limits that the pool's object asks for. */
export function limitsOf({ spec: { overcommit, reserve } }: Pool): PoolLimits {
  return {
    ...(overcommit === undefined ? {} : { overcommit }),
    ...(reserve === undefined ? {} : { reserve }),
  };
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
    return fail(
      "FAILED_PRECONDITION",
      message,
      "look at them, then remove them by hand; see: mooring doctor",
    );
  }
  if (usage === undefined && !onDisk) return { do: "remove-finalizer" };
  // Opened once more if need be: only an open pool can tell that it is empty.
  return usage === undefined ? { do: "open" } : { do: "remove" };
}

/** Undefined when the pool says all this already. */
function readyStatus({ pool, nodeID, now }: PoolView, usage: PoolUsage): PoolStatus | undefined {
  const { status } = pool;
  const nodes = isShared(pool) ? { nodes: [...new Set([...poolNodes(pool), nodeID])].sort() } : {};
  const unchanged =
    status?.ready === true &&
    status.totalBytes === usage.totalBytes &&
    status.freeBytes === usage.freeBytes &&
    status.promisedBytes === usage.promisedBytes &&
    (nodes.nodes === undefined || nodes.nodes.length === status.nodes?.length);
  if (unchanged) return undefined;
  return {
    ready: true,
    ...usage,
    ...nodes,
    conditions: [readyCondition(status, true, "Open", "the pool is open", now)],
  };
}

export function readyCondition(
  status: PoolStatus | undefined,
  ready: boolean,
  reason: string,
  message: string,
  now: Date,
): Condition {
  const before = status?.conditions?.find(({ type }) => type === "Ready");
  const value = ready ? "True" : "False";
  const same = before?.status === value;
  const lastTransitionTime = same ? before.lastTransitionTime : now.toISOString().replace(/\.\d+Z$/, "Z");
  return { type: "Ready", status: value, reason, message, lastTransitionTime };
}
