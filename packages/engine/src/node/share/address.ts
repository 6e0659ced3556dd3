const LOCAL = "127.0.0.1";

/**
 * Where a server is to listen, and nowhere else. Its clients have the address that it had, so it keeps that one as long
 * as the node has it, and when the node has none at all: a cable that is pulled for a moment is no reason to move.
 * Otherwise the one by which this node is known to others, if it is known; the first may be a bridge of
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
