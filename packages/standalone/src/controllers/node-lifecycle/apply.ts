import { EVICTED_ANNOTATION, type NodeAgent, NodeAgents } from "@mooring/engine";
import {
  type EventRecorder,
  isNotFound,
  mutate,
  type Node,
  Nodes,
  type ObjectStore,
  type Pod,
  Pods,
  type WrittenCache,
} from "@mooring/store";
import { FENCED_CONDITION } from "../lost-node.ts";
import type { NodeLifePod, NodeLifeStep } from "./decide.ts";

interface NodeLifeEffects {
  store: ObjectStore;
  events: EventRecorder;
  nodes: WrittenCache<Node>;
  pods: WrittenCache<Pod>;
  agents: WrittenCache<NodeAgent>;
  /** RFC 3339. */
  now: string;
}

/**
 * Every write is upon the version that was decided about: another writer that was faster, above all the kubelet, is right.
 */
export async function apply(step: NodeLifeStep, node: Node, effects: NodeLifeEffects): Promise<void> {
  const { store, events, nodes, agents } = effects;
  const { name } = node.metadata;
  switch (step.do) {
    case "mark-unknown": {
      const reported = {
        type: "Ready",
        status: "Unknown",
        reason: "NodeStatusUnknown",
        message: step.message,
      };
      nodes.wrote(await store.updateStatus(Nodes, withCondition(node, reported, effects.now)));
      return events.event(node, "Normal", "NodeNotReady", `Node ${name} status is now: NodeNotReady`);
    }
    case "mark-fenced": {
      const reported = {
        type: FENCED_CONDITION,
        status: step.fenced ? "True" : "False",
        reason: step.fenced ? "AgentFenced" : "AgentNotFenced",
        message: step.fenced ? "volumes of Mooring's driver cannot be written from this node any more" : "",
      };
      nodes.wrote(await store.updateStatus(Nodes, withCondition(node, reported, effects.now)));
      return;
    }
    case "taint":
      nodes.wrote(await store.update(Nodes, { ...node, spec: { ...node.spec, taints: step.taints } }));
      return;
    case "mark-evicted":
      // Until the watch has delivered it this is not to be done again.
      agents.wrote(
        await mutate(store, NodeAgents, { name }, ({ metadata }) => {
          const { [EVICTED_ANNOTATION]: _, ...kept } = metadata.annotations ?? {};
          metadata.annotations = step.evicted ? { ...kept, [EVICTED_ANNOTATION]: effects.now } : kept;
        }),
      );
      return;
    case "evict":
      await remove(effects, step.pod, {});
      return events.event(
        ...[step.pod, "Normal" as const, "TaintManagerEviction"],
        `Marking for deletion: node ${name} is tainted ${step.taint}`,
      );
    case "remove":
      await remove(effects, step.pod, { gracePeriodSeconds: 0 });
      return events.event(
        step.pod,
        "Warning",
        "PodRemoved",
        `Removed by force from ${name}: ${step.because}`,
      );
  }
}

async function remove(
  { store, pods }: NodeLifeEffects,
  pod: NodeLifePod,
  grace: { gracePeriodSeconds?: number },
): Promise<void> {
  const { namespace = "", name, uid } = pod.metadata;
  const preconditions = uid === undefined ? {} : { preconditions: { uid } };
  try {
    const left = await store.delete(Pods, { namespace, name }, { ...grace, ...preconditions });
    // It stays until its kubelet has ended it, or a client has taken the last finalizer away.
    if (left.metadata.deletionTimestamp !== undefined && grace.gracePeriodSeconds !== 0) pods.wrote(left);
    else if ((left.metadata.finalizers ?? []).length > 0) pods.wrote(left);
    else pods.gone({ ...left, metadata: pod.metadata });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    pods.gone(pod);
  }
}

type Condition = NonNullable<NonNullable<Node["status"]>["conditions"]>[number];

function withCondition(node: Node, reported: Condition, now: string): Node {
  const before = node.status?.conditions ?? [];
  const next = { ...reported, lastTransitionTime: now };
  const conditions = before.some(({ type }) => type === reported.type)
    ? before.map((each) => (each.type === reported.type ? { ...each, ...next } : each))
    : [...before, next];
  return { ...node, status: { ...node.status, conditions } };
}
