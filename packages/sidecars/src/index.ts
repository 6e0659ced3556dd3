export {
  type AttachmentProtection,
  attachmentProtection,
  type Published,
  publishedFor,
} from "./attach/protection.ts";
export { capacityMetrics } from "./capacity/metrics.ts";
export type { NodeDeploymentOptions } from "./claim-ownership/index.ts";
export { dataSourceReference, isElsewhere, isGranted } from "./common/data-source.ts";
export { snapshotMetrics } from "./common/snapshot-metrics.ts";
export { SNAPSHOT_OF_GROUP, WANTED_GROUP } from "./common/volume-group-names.ts";
export { volumeMetrics } from "./common/volume-metrics.ts";
export { CONTROLLERS, type ControllerName, type ControllerOptions } from "./controllers.ts";
export { chooseMode, type ModeName } from "./csi/access-modes.ts";
export type { ControllerCapability, DriverInfo } from "./csi/driver-info.ts";
export type { DeclaredCsiDriver } from "./csi-driver/object.ts";
export { keepControlling } from "./keep-controlling.ts";
export * from "./kube/data-sources.ts";
export * from "./kube/group-clone.ts";
export * from "./kube/group-restore.ts";
export * from "./kube/volume-group.ts";
export { type Candidate, leaseName, runAsLeader } from "./leader.ts";
export { unregisterNode } from "./node-registration/unregister.ts";
export type { LeaderElectionOptions, SidecarOptions } from "./options.ts";
export { type Lack, missingRights, reportMissing } from "./rights/check.ts";
export { controllerNeeds, electionNeeds, type Needs } from "./rights/needs.ts";
export { EVERY_CONTROLLER, type Right } from "./rights/writes.ts";
export { SnapshotMetadataHandlers, type SnapshotMetadataOptions } from "./snapshot-metadata/handlers.ts";
export { type SnapshotMetadataService, SnapshotMetadataServices } from "./snapshot-metadata/kinds.ts";
export { type Sidecars, startSidecars } from "./start.ts";
export { type ControlledDriver, type ManyDrivers, startManySidecars } from "./start-many.ts";
