import {
  canShutOut,
  describeSilentPool,
  NodeAgents,
  Pools,
  silentPoolsMessage,
  type Volume,
} from "@mooring/engine";
import { type Context, read } from "./context.ts";
import { type Finding, finding } from "./finding.ts";

/** The node that has the device, or is to have it, where its agent cannot be heard. */
export async function explainAttachedNode(context: Context, volume: Volume): Promise<Finding[]> {
  const node = volume.status?.currentNodeID || volume.spec.nodeID;
  if (!node) return [];
  const subject = `NodeAgent ${node}`;
  const agent = await read(context, NodeAgents, { name: node });
  if (agent === undefined) {
    const next = "start `mooring node` on that machine again";
    return [finding("waiting", subject, "does not exist: no agent serves the volume there", { next })];
  }
  const { state, conditions = [] } = agent.status ?? {};
  const silent = silentPoolsMessage(agent);
  if (silent?.includes(describeSilentPool(volume.spec.pool, "")) === true) {
    const next = `check the way from that machine to what holds the pool; what is written there waits, and goes on by itself`;
    return [finding("failed", subject, silent, { next })];
  }
  if (state === undefined || state === "Ready") return [];
  const cause = conditions.find(({ type }) => type === "Ready")?.message;
  const next =
    state === "Suspect"
      ? await nextWhileSilent(context, volume, node)
      : `see the node: kubectl describe nodeagent ${node}`;
  return [finding("waiting", subject, `is ${state}${cause === undefined ? "" : `: ${cause}`}`, { next })];
}

/** Where the storage shuts a lost node out by itself nobody has to know that the machine is off. */
async function nextWhileSilent(context: Context, { spec }: Volume, node: string): Promise<string> {
  const again = "start its agent again";
  const pool = await read(context, Pools, { name: spec.pool });
  if (pool !== undefined && canShutOut(pool))
    return `${again}; or have the volume used elsewhere: the cluster then shuts the node out of it, and it moves by itself`;
  return `${again}; if the machine is off for sure, volumes of shared pools move with: kubectl taint node ${node} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute`;
}
