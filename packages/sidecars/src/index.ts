export { CONTROLLERS, type ControllerName, type ControllerOptions } from "./controllers.ts";
export { chooseMode, type ModeName } from "./csi/access-modes.ts";
export type { ControllerCapability, DriverInfo } from "./csi/driver-info.ts";
export * from "./kube/group-restore.ts";
export { type Candidate, leaseName, runAsLeader } from "./leader.ts";
export { reportMissing } from "./rights/check.ts";
export { EVERY_CONTROLLER, type Right } from "./rights/writes.ts";
export { type LeaderElectionOptions, type SidecarOptions, type Sidecars, startSidecars } from "./start.ts";
export * from "./volume-group/api.ts";
