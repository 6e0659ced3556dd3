import { isIPv4 } from "node:net";
import { getIfAny, type ObjectStore } from "@mooring/store";
import { NodeAgents } from "../../api/node-agent.ts";
import type { UntrustedUser } from "../../api/share-manager.ts";
import { type Crossing, mayCross } from "./trust.ts";

/** A node whose workloads have tickets for a volume. */
export interface ShareUser {
  nodeID: string;
  /** IPv4; absent: it has reported none. */
  address?: string;
  /** The address is its last one, which the server has let in: it reports none any more. */
  isLast?: true;
}

/** Whom a share's server is to let in, and whom it must not. */
export interface Admission {
  users: ShareUser[];
  /** Also those that stay in all the same, which are users. */
  untrusted: UntrustedUser[];
}

/** A node writes its own address, so nothing but an address is taken for one. */
export function usersOf(
  store: Pick<ObjectStore, "get">,
  nodeIDs: readonly string[],
  signal: AbortSignal,
): Promise<ShareUser[]> {
  return Promise.all(
    nodeIDs.map(async (name) => {
      const { address = "" } = (await getIfAny(store, NodeAgents, { name }, signal))?.status ?? {};
      return isIPv4(address) ? { nodeID: name, address } : { nodeID: name };
    }),
  );
}

/** Nodes that report no address any more, with that of `nodes` at which the server of now has let them in. */
export function withLastAddress(
  users: readonly ShareUser[],
  nodes: ReadonlyMap<string, string>,
  before: ReadonlySet<string>,
): ShareUser[] {
  return users.map((user) => {
    const last = nodes.get(user.nodeID);
    if (user.address !== undefined || last === undefined || !before.has(last)) return user;
    return { ...user, address: last, isLast: true };
  });
}

/**
 * Who is let in. `before`: addresses that the server of now has let in already. Their programs would hang for ever, so they
 * stay until they end, whatever has become of the trust in their network.
 */
export async function admission(
  users: readonly ShareUser[],
  way: Omit<Crossing, "client">,
  nodeID: string,
  before: ReadonlySet<string>,
): Promise<Admission> {
  const result: Admission = { users: [], untrusted: [] };
  for (const user of users) {
    const { address } = user;
    if (address === undefined) {
      result.untrusted.push({ nodeID: user.nodeID, refused: true, message: withoutAddress(user.nodeID) });
      continue;
    }
    if (user.isLast === true) {
      const message = lostAddress(user.nodeID, address);
      result.users.push(user);
      result.untrusted.push({ nodeID: user.nodeID, address, refused: false, message });
      continue;
    }
    if (await mayCross({ ...way, client: address })) {
      result.users.push(user);
      continue;
    }
    const refused = !before.has(address);
    if (!refused) result.users.push(user);
    const message = distrust(user.nodeID, address, { nodeID, address: way.server });
    result.untrusted.push({ nodeID: user.nodeID, address, refused, message });
  }
  return result;
}

function withoutAddress(user: string): string {
  return (
    `node "${user}" has reported no IPv4 address, so no server can let it in: give it one on a network that the other ` +
    "nodes reach, and Mooring on it reports that within seconds"
  );
}

function lostAddress(user: string, address: string): string {
  return (
    `node "${user}" reports no IPv4 address any more, and is let in at ${address}, its last one: give it one on a network ` +
    "that the other nodes reach, and Mooring on it reports that within seconds"
  );
}

function distrust(user: string, address: string, server: { nodeID: string; address: string }): string {
  return (
    `node "${user}" at ${address} would use the volume of node "${server.nodeID}" at ${server.address} over a network that ` +
    "no operator has named as trusted and that does not encrypt: start Mooring on every node with --trusted-network and the " +
    "network that both addresses are in, or have the nodes join over WireGuard"
  );
}
