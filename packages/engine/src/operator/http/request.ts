import type { ObjectStore } from "@mooring/store";

/** A request below `/v1`, from whichever server. The caller has authenticated and authorized it. */
export interface RestRequest {
  method: string;
  /** Decoded, without `v1`: `["volumes", "v-1"]`. */
  path: readonly string[];
  /** The `action` of the query. */
  action?: string | undefined;
  /** Parsed JSON; undefined without a body. */
  body?: unknown;
}

/** What handling a request needs. */
export interface RestContext {
  store: ObjectStore;
  /** Who asks; the holder of tickets that name none. */
  user: string;
  /** What links begin with: `https://127.0.0.1:6443`. */
  base: string;
  now: () => Date;
  signal?: AbortSignal;
}
