import type { AgentPool, LeaseTimes } from "@mooring/engine";
import type { Logger, ObjectStore } from "@mooring/store";
import type { NodeSettings } from "../kubelet/node/node-object.ts";

/** What `mooring node` starts with. */
export interface MooringNodeOptions {
  /** The API server that the node joins; it has our kinds installed. */
  store: ObjectStore;
  /** `https://host:port` of that server: the logs of pods are served on the address that leads there. */
  server: string;
  /** Absolute, or relative to the working directory; made with mode 0700 when it is not there. */
  stateDir: string;
  /** Pools of this node; their Pool objects are made when they are not there. */
  pools: readonly AgentPool[];
  /** How long leases of a shared pool's images last without a renewal; the same on every node. */
  leases: Partial<LeaseTimes>;
  /** IPv4 networks, like `10.0.0.0/24`, over which nodes may share volumes unencrypted. */
  trustedNetworks: readonly string[];
  /** Name of the Node and of the CSI node: a DNS-1123 subdomain. */
  nodeName: string;
  settings: NodeSettings;
  logger: Logger;
  /** Ends everything cleanly. */
  signal: AbortSignal;
  /** Called once the state folder is this process's alone, before anything starts. */
  onOwned?(): Promise<void>;
}

/** A node that runs, until its signal aborts. */
export interface MooringNode {
  /** Absolute path of the driver's socket. */
  socket: string;
  /** Settles when everything has been released; rejects when a part failed beyond repair. */
  done: Promise<void>;
}
