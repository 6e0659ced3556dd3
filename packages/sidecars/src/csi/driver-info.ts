/** Names of csi.v1 ControllerServiceCapability.RPC.Type. */
export type ControllerCapability =
  | "CREATE_DELETE_VOLUME"
  | "PUBLISH_UNPUBLISH_VOLUME"
  | "LIST_VOLUMES"
  | "GET_CAPACITY"
  | "CREATE_DELETE_SNAPSHOT"
  | "LIST_SNAPSHOTS"
  | "CLONE_VOLUME"
  | "PUBLISH_READONLY"
  | "EXPAND_VOLUME"
  | "LIST_VOLUMES_PUBLISHED_NODES"
  | "VOLUME_CONDITION"
  | "GET_VOLUME"
  | "SINGLE_NODE_MULTI_WRITER"
  | "MODIFY_VOLUME"
  | "GET_SNAPSHOT";

/** Names of the add-ons' Capability.VolumeGroup.Type. */
export type VolumeGroupCapability =
  | "VOLUME_GROUP"
  | "LIMIT_VOLUME_TO_ONE_VOLUME_GROUP"
  | "DO_NOT_ALLOW_VG_TO_DELETE_VOLUMES"
  | "MODIFY_VOLUME_GROUP"
  | "GET_VOLUME_GROUP"
  | "LIST_VOLUME_GROUPS";

/** What a driver reports about itself, as plain values for decisions. */
export interface DriverInfo {
  name: string;
  version: string;
  /** It serves the Controller service. */
  controller: boolean;
  /** The driver has a Controller service, but not on this socket: a node's part of it. */
  controllerElsewhere: boolean;
  /** Its volumes are not reachable from everywhere (VOLUME_ACCESSIBILITY_CONSTRAINTS). */
  topology: boolean;
  /** Whether volumes may be expanded while they are published; "none" when the plugin does not report it. */
  expansion: "online" | "offline" | "none";
  can: ReadonlySet<ControllerCapability>;
  /** CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT of the GroupController service. */
  groupSnapshots: boolean;
  /** What it can do with volume groups, by the add-ons' Identity service; empty where that is not served. */
  volumeGroups: ReadonlySet<VolumeGroupCapability>;
  /** NodeExpandVolume is implemented, as far as this socket reports. */
  nodeExpansion: boolean;
  /** Where it runs, by NodeGetInfo; asked of one that works for its own node only. */
  runsOn?: { nodeId: string; segments: Record<string, string> };
}
