/** The priority classes that every cluster has, and their priorities; there is no kind to make others. */
export const PRIORITY_CLASSES: ReadonlyMap<string, number> = new Map([
  ["system-cluster-critical", 2_000_000_000],
  ["system-node-critical", 2_000_001_000],
]);
