/** The name of the pool that the default class provisions from. */
export const DEFAULT_POOL = "default";
