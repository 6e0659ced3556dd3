import { type Condition, defined, defineResource, type KubeObject } from "@mooring/store";
import { EVICTED_ANNOTATION, MOORING_GROUP, MOORING_VERSION } from "./names.ts";

/** Reason of the condition `Ready` of a node that an operator has called lost and that responds. */
export const HEARTBEAT_FRESH = "HeartbeatFresh";

/** A node that volumes can be attached to; the name is the CSI node id. */
export interface NodeAgent extends KubeObject {
  spec: { topology?: Record<string, string> };
  status?: {
    state: "Ready" | "Suspect" | "Fenced" | "Gone";
    heartbeat?: string;
    /** Which agent reports for the node: one state folder of one machine. */
    holder?: string;
    version?: string;
    /** IPv4 address from which the node reaches others: shares let it in by that. Absent: it has none but the loopback's. */
    address?: string;
    conditions?: Condition[];
  };
}

/**
 * Known to be unable to write. Who reports it, the node's own agent with its last report or the observer of silent ones,
 * writes the condition as well; a `state` that an operator typed is not proof.
 */
export function isFencedNode(agent: NodeAgent | undefined): boolean {
  const { state, conditions = [] } = agent?.status ?? {};
  const proven = conditions.some(({ type, status }) => type === "Fenced" && status === "True");
  return proven && (state === "Fenced" || state === "Gone");
}

/**
 * The observer of silent nodes found that it does not respond, or knows from an operator that it is off. It may write still, so
 * this allows one thing: to shut it out of images where a cluster can do that.
 */
export function isLostNode(agent: NodeAgent): boolean {
  const { state, conditions = [] } = agent.status ?? {};
  const ready = conditions.find(({ type }) => type === "Ready");
  const silent = ready?.status === "Unknown" && ready.reason !== HEARTBEAT_FRESH;
  return silent && (state === "Suspect" || state === "Fenced");
}

/** What runs on the node is to run elsewhere, should the node be lost. */
export function isEvicted({ metadata }: NodeAgent): boolean {
  return metadata.annotations?.[EVICTED_ANNOTATION] !== undefined;
}

/** Condition of a node that has shared pools: `False` while one of them cannot be read there. */
export const POOLS_RESPOND = "PoolsRespond";

/** What is said of a shared pool that cannot be read on a node. */
export function describeSilentPool(pool: string, message: string): string {
  return `pool ${pool}: ${message}`;
}

/** Which shared pools the node cannot read, and why; undefined: it can. */
export function silentPoolsMessage(agent: NodeAgent | undefined): string | undefined {
  const { state, conditions = [] } = agent?.status ?? {};
  if (state !== "Ready") return undefined;
  return conditions.find(({ type, status }) => type === POOLS_RESPOND && status === "False")?.message;
}

/** Everything about a node but its heartbeat, which changes all the time. */
export function withoutHeartbeat({ status, metadata, ...agent }: NodeAgent): NodeAgent {
  const { name, uid = "", annotations } = metadata;
  const evicted = annotations?.[EVICTED_ANNOTATION];
  const kept = evicted === undefined ? undefined : { [EVICTED_ANNOTATION]: evicted };
  const { heartbeat: _, ...known } = status ?? {};
  return {
    ...agent,
    metadata: { name, uid, ...defined({ annotations: kept }) },
    ...(isKnown(known) ? { status: known } : {}),
  };
}

function isKnown(status: Partial<NodeAgent["status"]>): status is NonNullable<NodeAgent["status"]> {
  return status?.state !== undefined;
}

/** Served at `/apis/storage.mooring.dev/v1alpha1/nodeagents`. */
export const NodeAgents = defineResource<NodeAgent>({
  group: MOORING_GROUP,
  version: MOORING_VERSION,
  kind: "NodeAgent",
  plural: "nodeagents",
  namespaced: false,
});
