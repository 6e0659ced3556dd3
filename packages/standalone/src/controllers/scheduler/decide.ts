import {
  allowsTopology,
  type CSIStorageCapacity,
  DONE,
  defined,
  type Node,
  type Outcome,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  parseQuantity,
  type StorageClass,
  selectsNode,
  wait,
} from "@mooring/store";
import { findVolume } from "../binder/match.ts";
import { NO_PROVISIONER, SELECTED_NODE } from "../binder/names.ts";
import { isReady } from "../lost-node.ts";
import { isFinished } from "../pod-claims.ts";
import { hasCapacity } from "./capacity.ts";
import { matchesPod } from "./matches-pod.ts";
import { type Amounts, hostPortsOf, lacking, requestsOf } from "./requests.ts";
import { untolerated } from "./taints.ts";

/** A claim of the pod that is to be scheduled. */
export interface ClaimView {
  name: string;
  claim: PersistentVolumeClaim | undefined;
  /** The volume that the claim is bound to, both ways. */
  volume: PersistentVolume | undefined;
  storageClass: StorageClass | undefined;
  /** Free volumes that the claim could be bound to. */
  candidates: readonly PersistentVolume[];
  /** The claim is not the pod's although its name is that of one of its ephemeral volumes. */
  foreign?: boolean;
  /** Name of another pod that has this ReadWriteOncePod claim. */
  takenBy?: string;
}

/** A node, and what is on it already. */
export interface NodeView {
  node: Node;
  /** Volumes of each driver that pods on the node use, by handle. */
  used: ReadonlyMap<string, ReadonlySet<string>>;
  /** Attach limit of each driver. */
  limits: ReadonlyMap<string, number>;
  pods: number;
  /** Those that pods on the node have to themselves. */
  hostPorts: ReadonlySet<string>;
  /** What the pods on the node have asked for, together. */
  requested: Amounts;
}

/** Everything that a pod's place depends on. */
export interface SchedulingView {
  pod: Pod;
  claims: readonly ClaimView[];
  nodes: readonly NodeView[];
  capacities: readonly CSIStorageCapacity[];
  /** Drivers whose free capacity is published. */
  tracksCapacity: (driver: string) => boolean;
}

/** One visible change for a pod that has no node yet. */
export type PodStep =
  | { do: "bind"; node: string }
  /** Asks the binder (static volume) or the provisioner to make the claim's volume reachable from the node. */
  | { do: "select-node"; node: string; claim: PersistentVolumeClaim; volume?: PersistentVolume }
  /** The choice of node is not valid any more. */
  | { do: "unselect-node"; claim: PersistentVolumeClaim }
  /** The pod's condition `PodScheduled`; an event as well where that is news. */
  | { do: "report-unschedulable"; reason: "SchedulingGated" | "Unschedulable"; message: string };

/** Pods that ask for another scheduler are not ours. */
export const SCHEDULER = "default-scheduler";
/** How long an unschedulable pod waits at most when nothing seems to change. */
export const RETRY_MS = 60_000;

/** A pod without a node, and what there is to place it by. */
export interface PodView {
  /** Undefined: nothing to place, or nothing of ours. */
  pod: Pod | undefined;
  /** What there is to place it on. */
  placing: SchedulingView | undefined;
  /** An event reported it not long ago. */
  isReported: (message: string) => boolean;
}

/** The next step for a pod without a node. */
export function decidePod({ pod, placing, isReported }: PodView): PodStep | Outcome {
  if (pod === undefined) return DONE;
  if (placing === undefined) {
    const message = "Scheduling is blocked due to non-empty scheduling gates";
    const reason = "SchedulingGated";
    return isMarkedUnscheduled(pod, reason, message) ? DONE : { do: "report-unschedulable", reason, message };
  }
  const step = decide(placing);
  if (step.do !== "report-unschedulable") return step;
  const { reason, message } = step;
  // The condition shows it all the time; an event only when it is news, or after a while.
  return isMarkedUnscheduled(pod, reason, message) && isReported(message) ? wait(RETRY_MS) : step;
}

function isMarkedUnscheduled({ status }: Pod, reason: string, message: string): boolean {
  return (status?.conditions ?? []).some(
    (each) =>
      each.type === "PodScheduled" &&
      each.status === "False" &&
      each.reason === reason &&
      each.message === message,
  );
}

/** True while the pod has no node, is neither ended nor being deleted, and asks for this scheduler. */
export function isWaiting(pod: Pod): boolean {
  const { metadata, spec } = pod;
  return (
    !spec?.nodeName &&
    metadata.deletionTimestamp === undefined &&
    !isFinished(pod) &&
    (spec?.schedulerName ?? SCHEDULER) === SCHEDULER
  );
}

/** Where the pod goes, or what has to be there before. Pure. */
export function decide(view: SchedulingView): PodStep | Outcome {
  const missing = claimProblem(view);
  if (missing !== undefined) return missing;
  const results = view.nodes.map((node) => ({ node, reasons: nodeProblems(view, node) }));
  const delayed = view.claims.filter(({ volume }) => volume === undefined);
  const feasible = results.filter(({ reasons }) => reasons.length === 0).map(({ node }) => node);
  const promised = delayed.map(({ claim }) => claim?.metadata.annotations?.[SELECTED_NODE]);
  // A node that was chosen before stays chosen while it will do: its volumes may be on their way.
  const chosen =
    feasible.find(({ node }) => promised.includes(node.metadata.name)) ?? feasible.sort(byLoad)[0];
  if (chosen === undefined)
    return unschedulable(
      explain(
        view.nodes.length,
        results.flatMap(({ reasons }) => reasons),
      ),
    );
  const node = chosen.node.metadata.name;
  const selected = delayed.filter(({ claim }) => claim?.metadata.annotations?.[SELECTED_NODE] !== undefined);
  for (const { claim } of selected) {
    const at = claim?.metadata.annotations?.[SELECTED_NODE];
    if (claim !== undefined && at !== node) return { do: "unselect-node", claim };
  }
  const next = delayed.find((each) => !selected.includes(each));
  if (next?.claim !== undefined) {
    const volume = findVolume(next.claim, next.candidates, chosen.node);
    return { do: "select-node", node, claim: next.claim, ...defined({ volume }) };
  }
  // The volumes of its claims are on their way to that node.
  return delayed.length > 0 ? wait(RETRY_MS) : { do: "bind", node };
}

function unschedulable(message: string): PodStep {
  return { do: "report-unschedulable", reason: "Unschedulable", message };
}

/** What is wrong with the pod's claims whatever the node. */
function claimProblem({ claims }: SchedulingView): PodStep | undefined {
  for (const { name, claim, volume, storageClass, takenBy, foreign } of claims) {
    if (claim === undefined) {
      return unschedulable(`persistentvolumeclaim "${name}" not found. Create it and the pod starts.`);
    }
    if (foreign === true) {
      const message = `PVC "${name}" was not created for pod: the pod's ephemeral volume needs that name. Rename the pod or delete the claim.`;
      return unschedulable(message);
    }
    if (claim.metadata.deletionTimestamp !== undefined) {
      return unschedulable(`persistentvolumeclaim "${name}" is being deleted. Use another claim.`);
    }
    if (claim.status?.phase === "Lost") {
      return unschedulable(
        `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${claim.spec?.volumeName}"`,
      );
    }
    if (takenBy !== undefined) {
      const message = `node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode: pod "${takenBy}" uses "${name}". Delete that pod first.`;
      return unschedulable(message);
    }
    if (volume === undefined && storageClass?.volumeBindingMode !== "WaitForFirstConsumer") {
      const message = `pod has unbound immediate PersistentVolumeClaims: "${name}". See the events of the claim: kubectl describe pvc ${name}`;
      return unschedulable(message);
    }
  }
  return undefined;
}

type Check = (view: SchedulingView, node: NodeView) => string | readonly string[] | undefined;

/** In this order; the first that fails counts for a node. */
const CHECKS: readonly Check[] = [
  (_, { node }) => (isReady(node) ? undefined : "node(s) were not ready"),
  ({ pod }, { node }) => {
    const taint = untolerated(node, pod);
    return taint && `node(s) had untolerated taint {${taint.key}: ${taint.value ?? ""}}`;
  },
  ({ pod }, { node }) =>
    matchesPod(pod, node) ? undefined : "node(s) didn't match Pod's node affinity/selector",
  ({ pod }, { hostPorts }) =>
    hostPortsOf(pod).some((port) => hostPorts.has(port))
      ? "node(s) didn't have free ports for the requested pod ports"
      : undefined,
  (_, { node, pods }) =>
    BigInt(pods) < parseQuantity(node.status?.allocatable?.pods ?? Number.MAX_SAFE_INTEGER)
      ? undefined
      : "Too many pods",
  ({ pod }, { node, requested }) => lacking(requestsOf(pod), requested, node.status?.allocatable),
  ({ claims }, { node }) =>
    claims.every(({ volume }) => selectsNode(volume?.spec?.nodeAffinity?.required, node))
      ? undefined
      : "node(s) had volume node affinity conflict",
  ({ claims }, node) => (withinLimits(claims, node) ? undefined : "node(s) exceed max volume count"),
  (view, { node }) =>
    view.claims.map((claim) => delayedProblem(view, claim, node)).find((reason) => reason !== undefined),
];

function nodeProblems(view: SchedulingView, node: NodeView): readonly string[] {
  for (const check of CHECKS) {
    const reasons = [check(view, node) ?? []].flat();
    if (reasons.length > 0) return reasons;
  }
  return [];
}

function withinLimits(claims: readonly ClaimView[], { used, limits }: NodeView): boolean {
  const added = new Map<string, Set<string>>();
  for (const { volume, claim, storageClass } of claims) {
    const driver = volume?.spec?.csi?.driver ?? storageClass?.provisioner;
    if (driver === undefined) continue;
    const handle = volume?.spec?.csi?.volumeHandle ?? `claim/${claim?.metadata.uid}`;
    added.set(driver, (added.get(driver) ?? new Set(used.get(driver))).add(handle));
  }
  return [...added].every(([driver, handles]) => handles.size <= (limits.get(driver) ?? Infinity));
}

/** Whether a claim without a volume could get one on this node. */
function delayedProblem(view: SchedulingView, each: ClaimView, node: Node): string | undefined {
  const { claim, volume, storageClass, candidates } = each;
  if (volume !== undefined || claim === undefined || storageClass === undefined) return undefined;
  if (findVolume(claim, candidates, node) !== undefined) return undefined;
  if (storageClass.provisioner === NO_PROVISIONER)
    return "node(s) didn't find available persistent volumes to bind";
  if (!allowsTopology(storageClass.allowedTopologies, node))
    return "node(s) did not match the topology of the storage class";
  // Space that this very claim was promised on the node would count against it.
  if (claim.metadata.annotations?.[SELECTED_NODE] === node.metadata.name) return undefined;
  if (!view.tracksCapacity(storageClass.provisioner)) return undefined;
  return hasCapacity(view.capacities, storageClass, claim, node)
    ? undefined
    : "node(s) did not have enough free storage";
}

function byLoad(a: NodeView, b: NodeView): number {
  return a.pods - b.pods || (a.node.metadata.name < b.node.metadata.name ? -1 : 1);
}

/** What an operator can do about each reason. */
const ADVICE: readonly [start: string, advice: string][] = [
  ["node(s) were not ready", "Inspect the node: kubectl describe node."],
  ["node(s) had untolerated taint", "Remove the taint or add a toleration to the pod."],
  ["node(s) didn't match Pod's", "Change spec.nodeSelector or spec.affinity of the pod, or label a node."],
  ["node(s) didn't have free ports", "Delete the pod that has the port, or ask for another hostPort."],
  [
    "node(s) had volume node affinity",
    "The pod's volumes can only be used on the nodes that their spec.nodeAffinity names.",
  ],
  ["Too many pods", "Delete pods that are not needed."],
  ["Insufficient ", "Ask for less in resources.requests, or delete pods that use what is missing."],
  ["node(s) exceed max volume count", "Delete pods that use volumes of this driver."],
  ["node(s) did not have enough", "Ask for less in the claim, enlarge the pool, or delete volumes."],
  ["node(s) did not match the topology", "Change allowedTopologies of the storage class, or label a node."],
  ["node(s) didn't find available", "Create a PersistentVolume of the claim's class and size."],
];

/** With the text that users of Kubernetes know, and the number of nodes per reason. */
function explain(total: number, reasons: readonly string[]): string {
  if (total === 0)
    return "0/0 nodes are available: no nodes available to schedule pods. Is the kubelet running?";
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const parts = [...counts].map(([reason, count]) => `${count} ${reason}`).sort();
  const advice = ADVICE.filter(([start]) => reasons.some((reason) => reason.startsWith(start))).map(
    ([, text]) => text,
  );
  return [`0/${total} nodes are available: ${parts.join(", ")}.`, ...advice].join(" ");
}
