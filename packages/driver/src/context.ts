import type { Host } from "@mooring/engine";
import type { Logger, ObjectStore } from "@mooring/store";

/** Which services an instance serves. */
export type DriverMode = "controller" | "node" | "all";

export interface DriverOptions {
  store: ObjectStore;
  /** The machine; only the node service touches it. */
  host: Host;
  /** The CSI node id, which is also the name of the NodeAgent object: at most 63 characters. */
  nodeID: string;
  mode: DriverMode;
  /** Folder for what the node service must remember about staged and published volumes. */
  stateDir: string;
  logger: Logger;
  /** Reported by GetPluginInfo. */
  version?: string;
  /** Volumes that may be attached to this node at once; default 1000. */
  maxVolumesPerNode?: number;
}

/** What every handler is given. */
export type DriverContext = Required<DriverOptions>;
