import type { Logger, ObjectStore } from "@mooring/store";
import type { ControllerName, ControllerOptions } from "./controllers.ts";
import type { CallMeasurement } from "./csi/measured.ts";

/** Which driver, which cluster and which controllers. */
export interface SidecarOptions extends ControllerOptions {
  store: ObjectStore;
  /** The driver's socket: `unix:///path/csi.sock`. */
  endpoint: string;
  /** Default: every one that the driver's capabilities allow. */
  controllers?: readonly ControllerName[];
  logger?: Logger;
  /** Stops everything. */
  signal: AbortSignal;
  /** Where records of unfinished calls and capacity objects are kept; default `kube-system`. */
  namespace?: string;
  /** Time for one call to the driver in milliseconds; default 60,000. */
  timeoutMs?: number;
  /** Delays between failing calls in milliseconds; default 1,000 up to 300,000, infeasible ones at least 300,000. */
  retry?: { startMs?: number; maxMs?: number; infeasibleMs?: number };
  /** Delays before controllers that broke begin again beside those of other drivers, in milliseconds; default 1,000 up to 60,000. */
  restart?: { startMs?: number; maxMs?: number };
  /** Milliseconds between two checks for kinds that were not installed at the start; default 30,000. */
  kindsMs?: number;
  /** Keys that one controller works on at the same time; default 50. */
  concurrency?: number;
  /** Milliseconds since the epoch; default `Date.now`. */
  now?: () => number;
  /** Only one process per driver works at a time; the others wait for its lease. */
  leaderElection?: LeaderElectionOptions;
  /** Called at the end of every call to the driver. */
  onCall?: (call: CallMeasurement & { driver: string }) => void;
}

/** The Lease by which one process of several is chosen. Times in milliseconds. */
export interface LeaderElectionOptions {
  /** Namespace of the Lease; default: that of the records. */
  namespace?: string;
  /** Default `mooring-sidecars-<driver>`. */
  name?: string;
  /** Default: host name and a random part. */
  identity?: string;
  /** Of a Lease that is made. */
  labels?: Record<string, string>;
  /** Milliseconds; see `acquireLease` of the store for the defaults. */
  durationMs?: number;
  renewDeadlineMs?: number;
  retryMs?: number;
}
