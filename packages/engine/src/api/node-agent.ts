import { type Condition, defineResource, type KubeObject } from "@mooring/store";
import { MOORING_GROUP, MOORING_VERSION } from "./names.ts";

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
 * writes the condition as well; a `state` that somebody typed is not proof.
 */
export function isFencedNode(agent: NodeAgent | undefined): boolean {
  const { state, conditions = [] } = agent?.status ?? {};
  const proven = conditions.some(({ type, status }) => type === "Fenced" && status === "True");
  return proven && (state === "Fenced" || state === "Gone");
}

/** Everything about a node but its heartbeat, which changes all the time. */
export function withoutHeartbeat({ status, metadata, ...agent }: NodeAgent): NodeAgent {
  const { name, uid = "" } = metadata;
  const { heartbeat: _, ...known } = status ?? {};
  return { ...agent, metadata: { name, uid }, ...(isKnown(known) ? { status: known } : {}) };
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
