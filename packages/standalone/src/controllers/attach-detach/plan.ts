import type { AttachmentProtection } from "@mooring/sidecars";

/** What is to happen on one node. */
export interface NodePlan {
  create: WantedVolume[];
  /** What node.status.volumesAttached is to be; absent: as it is. */
  report?: string[];
  /** Names of attachments to delete; only once `report` is written. */
  remove: string[];
  /** Volumes that another node has. */
  blocked: { wanted: WantedVolume; nodes: readonly string[] }[];
  /** Volumes that are attached now and were not reported before. */
  attached: WantedVolume[];
  failed: { wanted: WantedVolume; message: string }[];
}

/** A volume that pods of a node need, of a driver that wants to be asked before use. */
export interface WantedVolume {
  /** Name of the PersistentVolume. */
  volume: string;
  driver: string;
  handle: string;
  /** May be attached to several nodes at once. */
  shared: boolean;
  /** What the attacher of the driver, which is in this process, would write on the attachment before all else. */
  protection?: AttachmentProtection;
}
