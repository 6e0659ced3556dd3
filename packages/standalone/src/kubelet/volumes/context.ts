import type { EventRecorder, Logger } from "@mooring/store";
import type { CsiVolumeContext } from "./csi-volume-entry.ts";
import type { CsiVolumeTable } from "./csi-volume-table.ts";
import type { InUseReport } from "./in-use.ts";

/** What the volume manager is started with. */
export interface VolumeManagerOptions extends CsiVolumeContext {
  events: EventRecorder;
  logger: Logger;
  /** Milliseconds between two publications of a volume whose driver wants them again and again. */
  republishMs: number;
  /** A pod's volumes have changed. */
  changed: (podUID: string) => void;
  signal: AbortSignal;
}

/** What its steps are made with. */
export interface ManagerContext extends VolumeManagerOptions {
  table: CsiVolumeTable;
  inUse: InUseReport;
}
