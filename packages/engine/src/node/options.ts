import type { Logger, ObjectStore } from "@mooring/store";
import type { PoolType, RbdSpec } from "../api/pool.ts";
import type { Host } from "../host/host.ts";
import type { LeaseTimes } from "../leases/image-leases.ts";

/** A pool to have on this node. */
export interface AgentPool {
  name: string;
  type: PoolType;
  /** `path` is a folder that other nodes see as well, or a cluster's file; needs `leases`. */
  shared?: boolean;
  /** Absolute folder; default `<stateDir>/pools/<name>`. Of type `rbd` the configuration file of the Ceph cluster. */
  path?: string;
  /** Of type `rbd`, which is always shared: where in the cluster. */
  rbd?: RbdSpec;
  /** Bytes of the sparse file behind it; default 20 GiB for a new one, else as it is. */
  size?: number;
  /** All volumes together may be so many times as large as the pool; default 1. */
  overcommit?: number;
  reserve?: number;
  /** Its writers are suspended (frozen) before it is full. */
  holdWriters?: boolean;
}

/** What the agent of a node is started with. */
export interface AgentOptions {
  store: ObjectStore;
  host: Host;
  /** Name of this node's NodeAgent object, and the CSI node id. */
  nodeID: string;
  /** Absolute folder below which pools are made. */
  stateDir: string;
  logger: Logger;
  /** Pool objects made when they are not there; in one that is, size may grow, and limits that are set here change. */
  pools?: readonly AgentPool[];
  /** Take part in shared pools; the store has to serve coordination.k8s.io/v1. */
  leases?: Partial<LeaseTimes>;
  /**
   * Detach idle devices when stopping. Only where the agent stops after all workloads: a raw block device may be idle
   * in the hands of a running one.
   */
  releaseOnStop?: boolean;
  /** The IPv4 address by which this node reaches the others, and they it; default the first that it has. */
  address?: string;
  /** IPv4 networks, like `10.0.0.0/24`, over which volumes may be served unencrypted; default none. */
  trustedNetworks?: readonly string[];
  /** Milliseconds between two checks of the health of what is attached; default 10,000. */
  healthMs?: number;
  /** Stops the agent: steps under way end, idle pools are closed, volumes in use stay as they are. */
  signal: AbortSignal;
}
