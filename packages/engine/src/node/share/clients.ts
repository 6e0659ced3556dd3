import { isIPv4 } from "node:net";
import { getIfAny, type ObjectStore } from "@mooring/store";
import { NodeAgents } from "../../api/node-agent.ts";

/**
 * Addresses that a share's server lets in, in order: those of the other nodes whose workloads have tickets for the volume,
 * and `more`. Not its own: containers have their machine's network, and could claim to be the node. A node writes its own
 * address, so nothing but an address is taken for one.
 */
export async function clientsOf(
  store: Pick<ObjectStore, "get">,
  users: readonly string[],
  more: readonly string[],
  signal: AbortSignal,
): Promise<string[]> {
  const agents = await Promise.all(users.map((name) => getIfAny(store, NodeAgents, { name }, signal)));
  const addresses = agents.map((agent) => agent?.status?.address ?? "");
  return [...new Set([...more, ...addresses.filter(isIPv4)])].sort();
}
