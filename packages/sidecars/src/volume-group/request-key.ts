/** The key of a request about a set of volumes: the same set is the same request. */
export const requestKeyOfSet = (volumeHandles: Iterable<string>): string =>
  [...volumeHandles].sort().join("\n");
