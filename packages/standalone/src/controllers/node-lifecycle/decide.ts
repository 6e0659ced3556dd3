import { DONE, defined, isDeleting, type Node, type Outcome, type Pod } from "@mooring/store";
import { conditionOf, FENCED_CONDITION, isFenced, isOutOfService, isReady } from "../lost-node.ts";
import { isStopped } from "../node-stopped.ts";
import { isFinished } from "../pod-claims.ts";
import { type Taint, tolerationMs } from "../scheduler/taints.ts";

const NOT_READY = "node.kubernetes.io/not-ready";
/** Taint of a node whose kubelet is silent. */
export const UNREACHABLE = "node.kubernetes.io/unreachable";

/** Taint of a node whose condition DiskPressure is true: no further pods come, those that are there stay. */
const DISK_PRESSURE = "node.kubernetes.io/disk-pressure";
const OURS: readonly string[] = [NOT_READY, UNREACHABLE, DISK_PRESSURE];

/** Of a pod what decisions read: the rest of it changes often. */
export type NodeLifePod = Pick<Pod, "apiVersion" | "kind" | "metadata" | "spec" | "status">;

/** The same, as a projection for `reader.over`. */
export function nodeLifePod({ apiVersion, kind, metadata, spec, status }: Pod): NodeLifePod {
  const { name, namespace, uid, deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  const { tolerations } = spec ?? {};
  return {
    ...{ apiVersion, kind },
    metadata: { name, ...defined({ namespace, uid, deletionTimestamp, deletionGracePeriodSeconds }) },
    spec: { containers: [], ...defined({ tolerations }) },
    status: isFinished({ ...defined({ status }) }) ? { phase: status?.phase ?? "" } : {},
  };
}

/** Everything that a decision about a node may depend on. */
export interface NodeLifeView {
  node: Node;
  pods: readonly NodeLifePod[];
  /** For how long its lease has not been renewed, by the observer's clock; undefined: it was not read yet. */
  silentMs: number | undefined;
  graceMs: number;
  /** Its agent is known not to write any more: NodeAgent state `Fenced`. */
  agentFenced: boolean;
  /** Its NodeAgent says that its pods are to run elsewhere; undefined: there is none. */
  agentEvicted?: boolean | undefined;
  /** Milliseconds since the epoch, by the clock that `timeAdded` of taints is from. */
  now: number;
}

/** One visible change of a node that is silent, or back. */
export type NodeLifeStep =
  /** status.conditions: Ready is Unknown. */
  | { do: "mark-unknown"; message: string }
  /** status.conditions: the node is fenced, or is not any more. */
  | { do: "mark-fenced"; fenced: boolean }
  | { do: "taint"; taints: Taint[] }
  /** The annotation of its NodeAgent: its pods are to run elsewhere, or it is back. */
  | { do: "mark-evicted"; evicted: boolean }
  /** Deletes a pod as an operator would: it is gone when its kubelet has ended it. */
  | { do: "evict"; pod: NodeLifePod; taint: string }
  /** Removes the object of a pod that nothing runs of any more. */
  | { do: "remove"; pod: NodeLifePod; because: string };

/**
 * The first of the steps: what follows from a write shows in the next pass. What changes by time alone is read once a
 * second.
 */
export function decideStep(view: NodeLifeView): NodeLifeStep | Outcome {
  return decideNodeLife(view)[0] ?? DONE;
}

/**
 * What to do about a node and its pods: first what is reported of the node, one write at a time, then what follows for its
 * pods. Silence alone only marks pods for deletion; their objects, and with them the claim on their volumes, go when
 * nothing of the node can write any more. Pure.
 */
export function decideNodeLife(view: NodeLifeView): NodeLifeStep[] {
  const reported = stepForNode(view);
  return reported === undefined ? stepsForPods(view) : [reported];
}

const isLost = ({ silentMs, graceMs }: NodeLifeView) => silentMs !== undefined && silentMs >= graceMs;

function stepForNode(view: NodeLifeView): NodeLifeStep | undefined {
  const { node, graceMs, agentFenced, now } = view;
  if (isLost(view) && isReady(node)) {
    const message = `Kubelet stopped posting node status: nothing was heard for ${Math.round(graceMs / 1000)} s`;
    return { do: "mark-unknown", message };
  }
  const fenced = agentFenced && !isReady(node) && (isLost(view) || isFenced(node));
  if (fenced !== (conditionOf(node, FENCED_CONDITION)?.status === "True"))
    return { do: "mark-fenced", fenced };
  const taints = taintsFor(node, now);
  if (taints !== undefined) return { do: "taint", taints };
  const evicted = isEvicted(view);
  return evicted === (view.agentEvicted ?? evicted) ? undefined : { do: "mark-evicted", evicted };
}

/**
 * Somebody has deleted a pod of a lost node, or its taint has: before that one is removed nothing may be written there any more. A
 * silent node that nobody has lost patience with keeps its volumes where only their cluster can end that.
 */
function isEvicted(view: NodeLifeView): boolean {
  if (isReady(view.node) || isStopped(view.node)) return false;
  return view.agentEvicted === true || (isLost(view) && view.pods.some((pod) => isDeleting(pod)));
}

/**
 * What the node's taints are to be; undefined: as they are. Those that stand for conditions come and go; of others only the
 * time is added from which on pods tolerate them.
 */
function taintsFor(node: Node, now: number): Taint[] | undefined {
  const old = node.spec?.taints ?? [];
  const status = conditionOf(node, "Ready")?.status;
  // A node that has reported nothing yet is about to.
  const fine = isReady(node) || isStopped(node) || status === undefined;
  const key = fine ? undefined : status === "Unknown" ? UNREACHABLE : NOT_READY;
  const timeAdded = `${new Date(now).toISOString().slice(0, 19)}Z`;
  const wanted: Taint[] =
    key === undefined
      ? []
      : [
          { key, effect: "NoSchedule" },
          { key, effect: "NoExecute", timeAdded },
        ];
  if (conditionOf(node, "DiskPressure")?.status === "True")
    wanted.push({ key: DISK_PRESSURE, effect: "NoSchedule" });
  const isSame = (a: Taint) => (b: Taint) => a.key === b.key && a.effect === b.effect;
  const kept = old.filter((taint) => !OURS.includes(taint.key) || wanted.some(isSame(taint)));
  const added = wanted.filter((taint) => !kept.some(isSame(taint)));
  // `kubectl taint` leaves the time out, and a pod that tolerates the taint for a while has to go some day.
  const isUndated = ({ effect, timeAdded: since }: Taint) => effect === "NoExecute" && since === undefined;
  const isAsWanted = kept.length === old.length && added.length === 0 && !kept.some(isUndated);
  return isAsWanted
    ? undefined
    : [...kept.map((taint) => (isUndated(taint) ? { ...taint, timeAdded } : taint)), ...added];
}

function stepsForPods(view: NodeLifeView): NodeLifeStep[] {
  const because = whyRemovable(view);
  return view.pods.flatMap((pod): NodeLifeStep[] => {
    if (isDeleting(pod)) {
      // Already removed as far as its node goes: a finalizer keeps it.
      const isForced = pod.metadata.deletionGracePeriodSeconds === 0;
      return because === undefined || isForced ? [] : [{ do: "remove", pod, because }];
    }
    if (isFinished(pod)) return [];
    const taint = evictingTaint(view, pod);
    return taint === undefined ? [] : [{ do: "evict", pod, taint: taint.key }];
  });
}

/** Why no process of the node's pods can write any more; undefined: one may. */
function whyRemovable(view: NodeLifeView): string | undefined {
  const { node } = view;
  if (isStopped(node)) return "Mooring was stopped on the node, and with it its pods";
  if (!isLost(view)) return undefined;
  if (isOutOfService(node)) return "the node does not respond and is tainted out-of-service";
  return isFenced(node) ? "the node does not respond and is fenced" : undefined;
}

/** The first taint that the pod does not tolerate, or does not tolerate for so long. */
function evictingTaint(view: NodeLifeView, pod: NodeLifePod): Taint | undefined {
  const { node, now } = view;
  return (node.spec?.taints ?? []).find((taint) => {
    if (taint.effect !== "NoExecute") return false;
    // After a restart of ours the taint may be older than the news of its node.
    if (taint.key === UNREACHABLE && !isLost(view)) return false;
    const since = taint.timeAdded === undefined ? now : Date.parse(taint.timeAdded);
    return now - since >= tolerationMs(pod, taint);
  });
}
