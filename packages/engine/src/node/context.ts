import type { EventRecorder, Informer, KeyedLock, Lease, Logger, ObjectStore } from "@mooring/store";
import type { NodeAgent } from "../api/node-agent.ts";
import type { Pool } from "../api/pool.ts";
import type { Host } from "../host/host.ts";
import type { ImageLeases } from "../leases/image-leases.ts";
import type { Copies } from "./copy/copies.ts";
import type { Freezes } from "./freezes/index.ts";
import type { Sessions } from "./group-snapshot/sessions.ts";
import type { Fault } from "./health/fault.ts";
import type { ImageWatch } from "./health/images.ts";
import type { NodeClaim } from "./heartbeat/node-claim.ts";
import type { OpenPools } from "./open-pools.ts";
import type { TrustedNetworks } from "./share/trusted-networks.ts";

/** What a node needs for pools that it has together with others. */
export interface Sharing {
  /** Names of the shared pools that this node takes part in: those that it was started with, and those that it has joined. */
  pools: Set<string>;
  leases: ImageLeases;
  /** Calls back when an image's device has been fenced here, and when its lease is free to take. */
  onTurn(listener: (image: string) => void): void;
  /** Calls back when what `leases` responds about an image may have changed, other than by time. */
  onLeaseChanged(listener: (image: string) => void): void;
  /** All nodes, to know who responds. */
  agents: Informer<NodeAgent>;
  /** Leases of images, all nodes' own. */
  held: Informer<Lease>;
  /** `idle`: no device is left, so that every lease can be given back. */
  close(idle: boolean): Promise<void>;
}

/** What the controllers of one node share. */
export interface AgentContext {
  store: ObjectStore;
  host: Host;
  /** Name of this node's NodeAgent; volumes on its pools are ours. */
  nodeID: string;
  /** Our right to report for this node. */
  claim: NodeClaim;
  logger: Logger;
  events: EventRecorder;
  /** Pools that are open in this process. */
  pools: OpenPools;
  /** Why a shared pool could not be read here when that was tried last, by its name: others may well reach it. */
  silentPools: Map<string, string>;
  /** All Pool objects, other nodes' too. */
  poolObjects: Informer<Pool>;
  copies: Copies;
  /** Milliseconds between two checks of what is attached. */
  healthMs: number;
  /** Devices and file systems that have failed under their users, by volume: what the last check found. */
  faults: Map<string, Fault>;
  /** Finds images that are lost or truncated. */
  images: ImageWatch;
  /** Held while a volume's share is changed, and while its device is closed; by volume. */
  shareLocks: KeyedLock;
  /** Probes in a row that a share's server has not responded to, by volume. */
  silences: Map<string, { count: number; at: number }>;
  /** Who this life of the agent has had a share's server let in, by volume. */
  admitted: Map<string, string>;
  freezes: Freezes;
  /** Barriers under way in this process. */
  sessions: Sessions;
  /** What this node needs for pools that it has together with others; absent where there are none. */
  sharing: Sharing | undefined;
  /** Where volumes may be served over the network. */
  networks: TrustedNetworks;
  /** The IPv4 address by which this node reaches the others; absent: not known. */
  address: string | undefined;
  /** Absolute folder below which this node keeps its things. */
  stateDir: string;
  signal: AbortSignal;
}
