import { isEvicted, isFencedNode, type NodeAgent } from "@mooring/engine";
import type { Node, Pod, ReadContext, WrittenCache } from "@mooring/store";
import { type NodeLifeView, nodeLifePod } from "./decide.ts";

interface NodeLifeReads {
  nodes: WrittenCache<Node>;
  /** Indexed by `node`. */
  pods: WrittenCache<Pod>;
  agents: WrittenCache<NodeAgent>;
  graceMs: number;
  /** For how long each node has been silent, when that was last read. */
  silentMs: (nodeName: string) => number | undefined;
}

/** A node, its pods, and whether it is lost. */
export async function readNode(
  name: string,
  { nodes, pods, agents, graceMs, silentMs }: NodeLifeReads,
  { reader, fresh }: ReadContext,
): Promise<NodeLifeView | undefined> {
  if (fresh) await nodes.refresh(name);
  const node = reader.over(nodes).get(name);
  if (node === undefined) return undefined;
  const agent = reader.over(agents, ofAgent).get(name);
  return {
    ...{ node, graceMs, silentMs: silentMs(name), now: Date.now() },
    pods: reader.over(pods, nodeLifePod).byIndex("node", name),
    agentFenced: agent?.fenced === true,
    agentEvicted: agent?.evicted,
  };
}

/** One that stopped in order has a reason of its own. */
function ofAgent(agent: NodeAgent): { fenced: boolean; evicted: boolean } {
  return { fenced: agent.status?.state === "Fenced" && isFencedNode(agent), evicted: isEvicted(agent) };
}
