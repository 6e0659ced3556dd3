import type {
  EventRecorder,
  Informer,
  Logger,
  ObjectStore,
  PersistentVolume,
  VolumeGroupSnapshot,
  VolumeGroupSnapshotContent,
} from "@mooring/store";
import type { VolumeAttachment } from "../../api/attachment.ts";
import type { VolumeGroupRevert } from "../../api/group-revert.ts";
import type { NodeAgent } from "../../api/node-agent.ts";
import type { Snapshot } from "../../api/snapshot.ts";
import type { Volume } from "../../api/volume.ts";

/** What the controller of reverts watches. */
export interface RevertInformers {
  reverts: Informer<VolumeGroupRevert>;
  groups: Informer<VolumeGroupSnapshot>;
  contents: Informer<VolumeGroupSnapshotContent>;
  volumes: Informer<Volume>;
  attachments: Informer<VolumeAttachment>;
  snapshots: Informer<Snapshot>;
  nodes: Informer<NodeAgent>;
  /** By the handle of ours: index `handle`. */
  pvs: Informer<PersistentVolume>;
}

/** What the controller of reverts works with. */
export interface RevertContext {
  store: ObjectStore;
  logger: Logger;
  events: EventRecorder;
  informers: RevertInformers;
  now: () => Date;
  signal: AbortSignal;
}
