import { type Place, sourceTowards } from "./place.ts";
import type { TrustedNetworks } from "./trusted-networks.ts";

/** What decides whether a volume may cross the network between two addresses. */
export interface Crossing {
  networks: TrustedNetworks;
  place: Place;
  /** Where this machine serves the volume. */
  server: string;
  /** Where another node comes from. */
  client: string;
}

/** An address that others may serve or be served at. */
export function isTrusted(address: string, networks: TrustedNetworks, place: Place): boolean {
  return networks.has(address) || place.encrypted.includes(address);
}

/**
 * The servers know no password and encrypt nothing. So both ends have to be in networks that an operator trusts, or the way
 * between them has to be WireGuard's. Another node on this very machine needs no network.
 */
export async function mayCross({ networks, place, server, client }: Crossing): Promise<boolean> {
  if (client.startsWith("127.") || place.addresses.includes(client)) return true;
  if (networks.has(server) && networks.has(client)) return true;
  if (!place.encrypted.includes(server)) return false;
  // An address that looks like a peer's may be routed past WireGuard.
  const source = await sourceTowards(client);
  return source !== undefined && place.encrypted.includes(source);
}

/** By which address others find this node: the one by which it is known, unless only another is trusted. Undefined: it has none. */
export function ownAddress(
  place: Place,
  networks: TrustedNetworks,
  reaching: string | undefined,
): string | undefined {
  const known = place.addresses.filter((address) => address === reaching);
  const candidates = [...known, ...place.addresses];
  return candidates.find((address) => isTrusted(address, networks, place)) ?? candidates[0];
}
