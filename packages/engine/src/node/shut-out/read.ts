import { getIfAny, type Lease, Leases, type Reader } from "@mooring/store";
import { LEASE_NAMESPACE, LEASE_NODE_LABEL } from "../../api/names.ts";
import { isLostNode, NodeAgents, withoutHeartbeat } from "../../api/node-agent.ts";
import { canShutOut, poolNodes } from "../../api/pool.ts";
import { type Volume, Volumes } from "../../api/volume.ts";
import { leaseName } from "../../leases/lease-watch.ts";
import { getAttachment } from "../../tickets/attachment-object.ts";
import type { AgentContext, Sharing } from "../context.ts";
import { readContext } from "../read-context.ts";
import type { ShutOutView } from "./decide.ts";
import { isAskedFor } from "./demand.ts";
import type { MissingAgents } from "./missing-agents.ts";

/** The images of this node's pools, from caches; `missing` counts how long agents have been missing. */
interface Sources {
  volumes: { get(key: string): Volume | undefined };
  missing: MissingAgents;
}

/**
 * Undefined: no other node has the image, the one that has it responds, its pool cannot shut a node out from here, or another node
 * is to do it: of those that have the pool the first that responds. That much is known from caches, on every node for all images;
 * what this node is about to shut out is read from the store.
 */
export async function readShutOut(
  context: AgentContext,
  sharing: Sharing,
  name: string,
  { reader, volumes, missing }: Sources & { reader: Reader },
): Promise<ShutOutView | undefined> {
  const { nodeID: own, signal } = context;
  const cachedVolume = volumes.get(name);
  const { pools, poolObjects } = readContext(context, reader);
  const pool = cachedVolume === undefined ? undefined : poolObjects.get(cachedVolume.spec.pool);
  if (cachedVolume === undefined || pool === undefined || !canShutOut(pool)) return undefined;
  if (pools.get(cachedVolume.spec.pool) === undefined) return undefined;
  const key = { namespace: LEASE_NAMESPACE, name: leaseName(name) };
  const cached = reader.over(sharing.held, nodeOf).get(`${key.namespace}/${key.name}`);
  const nodeID = cached ?? cachedVolume.status?.ownerID ?? "";
  if (nodeID === "" || nodeID === own) return undefined;
  const agents = reader.over(sharing.agents, withoutHeartbeat);
  const known = agents.get(nodeID);
  if (known !== undefined && !isLostNode(known)) return undefined;
  const isReady = (node: string) => agents.get(node)?.status?.state === "Ready";
  if (poolNodes(pool).filter(isReady).sort()[0] !== own) return undefined;
  const lease = await getIfAny(reader.store, Leases, key, signal);
  const agent = await reader.get(NodeAgents, { name: nodeID }, withoutHeartbeat, signal);
  const volume = await getIfAny(reader.store, Volumes, { name }, signal);
  if (volume === undefined) return undefined;
  const attachment = await getAttachment(reader.store, name, signal);
  const asked = agent !== undefined && isAskedFor({ volume, attachment, nodeID, agent });
  return { volume, lease, nodeID, agent, asked, missingMs: missing.missingMs(nodeID, agent) };
}

function nodeOf(lease: Lease): string | undefined {
  return lease.metadata.labels?.[LEASE_NODE_LABEL];
}
