/** As in Kubernetes: three mebibytes. */
export const MOST_BYTES = 3 * 1024 * 1024;
/** Levels of lists and objects in one another that a body may have. */
export const MOST_DEPTH = 1000;
/**
 * Values in one body, keys not counted, and in the object that comes of it. What checks and merges an object visits each of
 * them many times, in one turn of the event loop: some 30 microseconds each. Nodes report all their volumes at once;
 * definitions of resources are larger, and so may be what an administrator sends.
 */
export const MOST_VALUES = { untrusted: 1_500, node: 4_000, administrator: 50_000 } as const;
/** Complaints about one body; more of them help nobody. */
export const MOST_COMPLAINTS = 50;
