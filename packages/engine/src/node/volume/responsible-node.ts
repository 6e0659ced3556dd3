import { isFencedNode, type NodeAgent } from "../../api/node-agent.ts";
import type { Volume } from "../../api/volume.ts";

/** What decides which node takes care of a volume. */
export interface ResponsibilityView {
  volume: {
    spec: Pick<Volume["spec"], "nodeID">;
    status?: Pick<NonNullable<Volume["status"]>, "ownerID">;
  };
  /** This node. */
  nodeID: string;
  /** Nodes that have the volume's shared pool open. */
  poolNodes: readonly string[];
  agents: ReadonlyMap<string, NodeAgent>;
}

/**
 * The node whose agent is responsible for a shared pool's volume now: the node which has it; else of the node that is to have it;
 * else of one that all agree on, for what has to be done anywhere. A node that is fenced has nothing any more. Agents
 * whose pictures differ may both think that it is them; the lease decides then. Pure.
 */
export function responsibleNode({ volume, poolNodes, agents }: ResponsibilityView): string | undefined {
  const owner = volume.status?.ownerID ?? "";
  const wanted = volume.spec.nodeID ?? "";
  const state = (node: string) => agents.get(node)?.status?.state;
  const lost = isFencedNode(agents.get(owner)) || !agents.has(owner);
  if (owner !== "" && (wanted === owner || !lost)) return owner;
  if (wanted !== "") return wanted;
  return poolNodes.filter((node) => state(node) === "Ready").sort()[0];
}

/** True when this node takes care of the volume now, as far as it knows: see {@link responsibleNode}. */
export function isResponsible(view: ResponsibilityView): boolean {
  return responsibleNode(view) === view.nodeID;
}
