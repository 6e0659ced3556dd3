import { isIPv4 } from "node:net";
import { getIfAny, type ObjectStore } from "@mooring/store";
import { NodeAgents } from "../../api/node-agent.ts";

/**
 * Addresses that a share's server lets in, in order: its own, and those of the nodes whose workloads have tickets for the
 * volume. A node writes its own address, so nothing but an address is taken for one.
 */
export async function clientsOf(
  store: Pick<ObjectStore, "get">,
  own: string,
  users: readonly string[],
  signal: AbortSignal,
): Promise<string[]> {
  const agents = await Promise.all(users.map((name) => getIfAny(store, NodeAgents, { name }, signal)));
  const addresses = agents.map((agent) => agent?.status?.address ?? "");
  return [...new Set([own, ...addresses.filter(isIPv4)])].sort();
}
