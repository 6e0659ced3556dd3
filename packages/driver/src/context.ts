import type { Host, Pool, Snapshot, Volume, VolumeAttachment, VolumeSet } from "@mooring/engine";
import type { Logger, ObjectStore } from "@mooring/store";
import type { RecentList } from "./objects/recent-list.ts";
import type { Related } from "./objects/related.ts";

/** Which services an instance serves. */
export type DriverMode = "controller" | "node" | "all";

/** What a driver is started with. */
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
  /**
   * For mode `node`: no instance of this plugin anywhere serves controllers. It is another plugin then, with a version
   * and capabilities of its own. Default false: the controller service is in another process, on the same store.
   */
  nodeOnly?: boolean;
  /**
   * This process is the whole plugin: no other process has its store, and its node is all there is. Default false: more nodes
   * may come at any time.
   */
  alone?: boolean;
  /**
   * Ends the live copies of objects that the driver keeps for what would else take a read of all of them, and for
   * forgetting what is deleted. Absent: it keeps none and removes no record by itself.
   */
  signal?: AbortSignal;
  /** Folder of the control groups whose `io.max` is written; default: the version 2 hierarchy that is mounted. */
  cgroupRoot?: string;
  /** Deleting a volume group never deletes a volume, whatever the group's own parameters say. Default false. */
  keepGroupVolumes?: boolean;
  /** Volumes that may be attached to this node at once; default 1000. */
  maxVolumesPerNode?: number;
}

/** A controller of the version 2 hierarchy, or why there is none. */
export type IoController = { root: string } | { missing: string };

/** Keeps workloads within the limits of their volumes; the node service's keeper does. */
interface IoLimits {
  /** The machine's controller, or why there is none. */
  controller(): Promise<IoController>;
  /** Applies the limits of a volume again, after anything about it has changed. */
  follow(volume: Volume): Promise<void>;
}

/** What every handler is given. */
export interface DriverContext extends Required<Omit<DriverOptions, "signal" | "cgroupRoot">> {
  cgroupRoot: string | undefined;
  /** What is listed page by page. */
  lists: {
    volumes: RecentList<Volume>;
    snapshots: RecentList<Snapshot>;
    attachments: RecentList<VolumeAttachment>;
    pools: RecentList<Pool>;
    sets: RecentList<VolumeSet>;
  };
  /** Of this machine; undefined where there is no node service. */
  ioLimits: IoLimits | undefined;
  related: Related;
}
