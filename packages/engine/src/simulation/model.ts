import type { AttacherType } from "../api/attachment.ts";
import type { Volume, VolumeState, VolumeStatus } from "../api/volume.ts";
import type { MigrationStep } from "../node/migration/decide.ts";

/** A volume of a pool that every node can reach; `opener` is who took its image to open it, until it is closed. */
export interface SimVolume extends Volume {
  status: VolumeStatus;
  opener: string;
}

/** What the simulated agent of a node does next. */
export type AgentStep =
  | { do: "migrate"; step: SimMigrationStep }
  | { do: "open" }
  | { do: "close" }
  | { do: "record"; state: VolumeState; next: SimVolume };

/** Who may have the image open. */
export interface SimLease {
  holder: string;
  /** Given back for this node; empty: for any. */
  for: string;
  /** Its last holder was lost with it. */
  unclean: boolean;
}

/** What it does next of a migration. */
export type SimMigrationStep =
  | Exclude<MigrationStep, { do: "wait" }>
  | { do: "release-lease" | "renew-image" };

/** One who may ask for the volume: a Pod, an operator, a job. */
export interface Asker {
  id: string;
  type: AttacherType;
  nodeID: string;
  parameters: Record<string, string>;
  /** Milliseconds after the start; absent: never. */
  expiresAfter?: number | undefined;
}

/** What a history is about: the volume, and who wants it. */
export interface Plan {
  shared: boolean;
  /** A block volume that may be on two nodes while it moves. */
  migratable: boolean;
  /** Kubernetes has the volume by attachments of its own. */
  kubernetes: boolean;
  /** The only node that can reach the data; absent: all can. */
  home?: string | undefined;
  askers: readonly Asker[];
}
