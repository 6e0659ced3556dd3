import type { AgentPool, LeaseTimes, PoolType } from "@mooring/engine";
import type { Logger, StoreOpenError } from "@mooring/store";
import type { ClientBounds } from "../apiserver/fairness/bounds.ts";

/** What `mooring up` starts with. */
export interface StandaloneOptions {
  /** Absolute, or relative to the working directory; made with mode 0700 when it is not there. */
  stateDir: string;
  /** The default pool; `size` in bytes and `overcommit` count at every start that gives them: a pool never gets smaller. */
  pool: { type: PoolType; size?: number; overcommit?: number };
  /** Pools that this node has together with others. */
  sharedPools: readonly AgentPool[];
  /** How long leases of a shared pool's images last without a renewal; the same on every node. */
  leases: Partial<LeaseTimes>;
  /** IPv4 networks, like `10.0.0.0/24`, over which nodes may share volumes unencrypted. */
  trustedNetworks: readonly string[];
  /** A node that does not respond for so long is suspect; milliseconds. */
  nodeGraceMs: number;
  listen: { host: string; port: number };
  /** What clients of the API server may have open at once. */
  clients: ClientBounds;
  /** Name of the Node and of the CSI node: a DNS-1123 subdomain. */
  nodeName: string;
  /** Whether drivers that register themselves get controllers here; without, an administrator runs theirs. */
  driverControllers: boolean;
  logger: Logger;
  /** Ends everything cleanly. */
  signal: AbortSignal;
  /** Ends the process at once when the store's file was truncated under it: nothing can be read or released any more. */
  onLost?(error: StoreOpenError): never;
  /** Called once the state folder is this process's alone, before anything starts. */
  onOwned?(): Promise<void>;
  /** Called after that with the nodes of which the store has pools in the state folder, before anything is served. */
  onRead?(nodes: readonly string[]): Promise<void>;
}

/** A standalone Mooring that runs, until its signal aborts. */
export interface Standalone {
  url: string;
  /** Path of the kubeconfig file. */
  kubeconfig: string;
  /** Settles when everything has been released; rejects when a part failed beyond repair. */
  done: Promise<void>;
}
