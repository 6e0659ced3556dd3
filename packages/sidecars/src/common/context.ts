import type { EventRecorder, Logger, ObjectStore } from "@mooring/store";
import type { Driver } from "../csi/driver.ts";
import type { DriverInfo } from "../csi/driver-info.ts";
import type { Cluster } from "../kube/cluster.ts";
import type { DriverHealth } from "./driver-health.ts";
import type { Here } from "./here.ts";
import type { AskedDriver } from "./patience.ts";

/** What every controller of one driver is given. */
export interface SidecarContext {
  store: ObjectStore;
  cluster: Cluster;
  driver: Driver;
  /** Set where every node has a process of its own: this one works for the volumes of this node. */
  here: Here | undefined;
  events: EventRecorder;
  logger: Logger;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Namespace of records and capacity objects. */
  namespace: string;
  /** Time for one call to the driver, in milliseconds. */
  timeoutMs: number;
  /** Delays between failing calls, in milliseconds. */
  retry: { startMs: number; maxMs: number; infeasibleMs: number };
  concurrency: number;
  /** Kept up to date by the health controller. */
  health: DriverHealth;
  /** Called when the driver has come back as one that can other things. */
  onDriverChanged: (info: DriverInfo) => void;
  /** The attacher runs beside, and asks the driver: it takes its finalizer off what is deleted. */
  attaches: boolean;
  /** Contents of snapshots name the node that has the volume. */
  distributedSnapshots: boolean;
  /** What is released is deleted by the provisioner beside, which keeps what is being copied. */
  reclaims: boolean;
  /** Since when the driver has been asked for contents; absent: another program asks it. */
  asked: AskedDriver | undefined;
  /** Snapshot kinds are installed. */
  hasSnapshotKinds: boolean;
  /** The driver can have volumes of a VolumeAttributesClass, and the kind is served. */
  hasAttributesClasses: boolean;
  /** Kinds of group snapshots are installed. */
  hasGroupKinds: boolean;
  /** VolumeGroupRestores are installed. */
  hasRestoreKind: boolean;
  /** VolumeGroupClones are installed. */
  hasCloneKind: boolean;
  /** ReferenceGrants are installed, and followed. */
  hasReferenceGrants: boolean;
  /** VolumePopulators are installed: each populator registers the kind from which it fills volumes. */
  hasPopulators: boolean;
  /** VolumeGroups, their contents and classes are installed. */
  hasVolumeGroupKinds: boolean;
}
