import type { EventRecorder, Logger, ObjectStore } from "@mooring/store";
import type { ClusterView } from "../../controllers/cluster-view.ts";
import type { Drivers } from "../csi/drivers.ts";
import type { VolumeManager } from "../volumes/index.ts";
import type { DriverRecords } from "./records.ts";
import type { FoundSockets } from "./sockets.ts";

/** What a driver that registers itself needs besides the kubelet: its node's objects, and controllers. */
export interface DriverHost {
  /** From now on, in place of an earlier one of that name. Does not wait for the driver. `endpoint`: `unix:///path`. */
  begin(driver: { name: string; endpoint: string }): Promise<void>;
  /** Resolves when nothing calls the driver any more, and its node has forgotten it. */
  end(name: string): Promise<void>;
}

/** What the registration of drivers is started with. */
export interface DriverRegistrationOptions {
  store: ObjectStore;
  view: ClusterView;
  drivers: Drivers;
  manager: VolumeManager;
  host: DriverHost;
  events: EventRecorder;
  nodeName: string;
  /** Absolute: `plugins_registry`, where drivers and their registrars put their sockets. */
  folder: string;
  /** Absolute: where it is kept which have been taken. */
  records: string;
  logger: Logger;
  signal: AbortSignal;
}

/** What its steps are made with. */
export interface RegistrationContext extends Omit<DriverRegistrationOptions, "records"> {
  records: DriverRecords;
  found: () => FoundSockets;
}
