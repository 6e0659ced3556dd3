/** As in Kubernetes: three mebibytes. */
export const MOST_BYTES = 3 * 1024 * 1024;
/** Levels of lists and objects in one another that a body may have. */
export const MOST_DEPTH = 1000;
/** What one body may have, and the object that comes of it. */
export interface Limits {
  /** Members of lists and objects. */
  values: number;
  /**
   * Of them, those of objects with more than {@link LARGE_OBJECT}: what tracks fields does several times as much for each.
   */
  keys: number;
}
/** Objects of Kubernetes whose keys are not names that a user chooses have no more keys. */
export const LARGE_OBJECT = 100;
/**
 * What checks and merges an object visits each value many times, in one turn of the event loop: some 30 microseconds for a
 * key, 5 for an element of a list. Nodes report lists of all their volumes at once; definitions of resources are larger,
 * and so may be what an administrator sends.
 */
export const MOST = {
  untrusted: { values: 1_500, keys: 1_500 },
  node: { values: 4_000, keys: 1_000 },
  administrator: { values: 50_000, keys: 50_000 },
} as const satisfies Record<string, Limits>;
/** Complaints about one body; more of them help no user. */
export const MOST_COMPLAINTS = 50;
