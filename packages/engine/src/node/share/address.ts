import { networkInterfaces } from "node:os";

const LOCAL = "127.0.0.1";

/** The IPv4 addresses by which other machines may reach this one, in the order of its interfaces. */
export function nodeAddresses(): string[] {
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return addresses
    .filter(({ internal, family }) => !internal && family === "IPv4")
    .map(({ address }) => address);
}

/**
 * Where a server is to listen, and nowhere else. Its clients have the address that it had, so it keeps that one as long
 * as the node has it, and when the node has none at all: a cable that is pulled for a moment is no reason to move.
 * Otherwise the one by which this node is known to reach others, where that is configured; the first may be a bridge of
 * containers. 127.0.0.1 where there never was one.
 */
export function chooseAddress(
  last: string | undefined,
  present: readonly string[],
  reaching?: string,
): string {
  if (last !== undefined && (present.includes(last) || present.length === 0)) return last;
  return present.find((address) => address === reaching) ?? present[0] ?? LOCAL;
}
