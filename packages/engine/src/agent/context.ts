import type { EventRecorder, Informer, Logger, ObjectStore } from "@mooring/store";
import type { Pool } from "../api/pool.ts";
import type { Host } from "../host/host.ts";
import type { Cuts } from "./cuts.ts";
import type { Freezes } from "./freezes/index.ts";
import type { Sessions } from "./group-snapshot/sessions.ts";
import type { OpenPools } from "./open-pools.ts";

/** What the controllers of one node share. */
export interface AgentContext {
  store: ObjectStore;
  host: Host;
  /** Name of this node's NodeAgent; volumes on its pools are ours. */
  nodeID: string;
  logger: Logger;
  events: EventRecorder;
  /** Pools that are open in this process. */
  pools: OpenPools;
  /** All Pool objects, other nodes' too. */
  poolObjects: Informer<Pool>;
  cuts: Cuts;
  /** Milliseconds between two looks at what is attached. */
  healthMs: number;
  /** File systems that have failed under their users, by volume: what the last look found. */
  faults: Map<string, string>;
  freezes: Freezes;
  /** Barriers under way in this process. */
  sessions: Sessions;
  signal: AbortSignal;
}
