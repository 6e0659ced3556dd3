import { REQUIRED_IN_RESPONSES } from "./required-responses.ts";

/** Limits of csi.v1, section "Size Limits", in bytes of UTF-8. */
export const MAX_STRING_BYTES = 128;
export const MAX_MAP_BYTES = 4096;
/** What Linux takes as a path. */
const MAX_PATH_BYTES = 4096;
const MAX_NODE_ID_BYTES = 256;

/**
 * Fields that a request must have set, by message. A name with `|` needs one of them. The specification's "REQUIRED", as far as
 * absence can be seen on the wire: a bool or a number that is not set reads as its zero value.
 */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  "csi.v1.CreateVolumeRequest": ["name", "volume_capabilities"],
  "csi.v1.VolumeContentSource": ["type"],
  "csi.v1.VolumeContentSource.SnapshotSource": ["snapshot_id"],
  "csi.v1.VolumeContentSource.VolumeSource": ["volume_id"],
  "csi.v0.VolumeContentSource.SnapshotSource": ["id"],
  "csi.v1.VolumeCapability": ["access_type", "access_mode"],
  "csi.v1.VolumeCapability.AccessMode": ["mode"],
  "csi.v1.CapacityRange": ["required_bytes|limit_bytes"],
  "csi.v1.TopologyRequirement": ["requisite|preferred"],
  "csi.v1.DeleteVolumeRequest": ["volume_id"],
  "csi.v1.ControllerPublishVolumeRequest": ["volume_id", "node_id", "volume_capability"],
  "csi.v1.ControllerUnpublishVolumeRequest": ["volume_id"],
  "csi.v1.ValidateVolumeCapabilitiesRequest": ["volume_id", "volume_capabilities"],
  "csi.v1.ControllerGetVolumeRequest": ["volume_id"],
  "csi.v1.ControllerGetVolumeHealthRequest": ["volume_id"],
  "csi.v1.ControllerModifyVolumeRequest": ["volume_id", "mutable_parameters"],
  "csi.v1.CreateSnapshotRequest": ["source_volume_id", "name"],
  "csi.v1.DeleteSnapshotRequest": ["snapshot_id"],
  "csi.v1.GetSnapshotRequest": ["snapshot_id"],
  "csi.v1.ControllerExpandVolumeRequest": ["volume_id", "capacity_range"],
  "csi.v1.NodeStageVolumeRequest": ["volume_id", "staging_target_path", "volume_capability"],
  "csi.v1.NodeUnstageVolumeRequest": ["volume_id", "staging_target_path"],
  "csi.v1.NodePublishVolumeRequest": ["volume_id", "target_path", "volume_capability"],
  "csi.v1.NodeUnpublishVolumeRequest": ["volume_id", "target_path"],
  "csi.v1.NodeGetVolumeStatsRequest": ["volume_id", "volume_path"],
  "csi.v1.NodeGetVolumeHealthRequest": ["volume_id"],
  "csi.v1.NodeExpandVolumeRequest": ["volume_id", "volume_path"],
  "csi.v1.CreateVolumeGroupSnapshotRequest": ["name", "source_volume_ids"],
  // Their snapshot_ids are compared with the group's: of one that does not exist, none are missing.
  "csi.v1.DeleteVolumeGroupSnapshotRequest": ["group_snapshot_id"],
  "csi.v1.GetVolumeGroupSnapshotRequest": ["group_snapshot_id"],
  "csi.v1.GetMetadataAllocatedRequest": ["snapshot_id"],
  "csi.v1.GetMetadataDeltaRequest": ["base_snapshot_id", "target_snapshot_id"],
  "volumegroup.CreateVolumeGroupRequest": ["name"],
  "volumegroup.ModifyVolumeGroupMembershipRequest": ["volume_group_id"],
  "volumegroup.DeleteVolumeGroupRequest": ["volume_group_id"],
  "volumegroup.ControllerGetVolumeGroupRequest": ["volume_group_id"],
};

/** The fields that a message of this type must have set. csi.v0 and csi.v1 differ where their names do. */
export function requiredOf(typeName: string): readonly string[] {
  return (
    REQUIRED[typeName] ??
    REQUIRED_IN_RESPONSES[typeName] ??
    REQUIRED[typeName.replace(/^csi\.v0\./, "csi.v1.")] ??
    []
  );
}

/** Fields with a limit of their own. */
export const STRING_LIMITS: Readonly<Record<string, number>> = {
  staging_target_path: MAX_PATH_BYTES,
  target_path: MAX_PATH_BYTES,
  volume_path: MAX_PATH_BYTES,
  volume_publish_path: MAX_PATH_BYTES,
  node_id: MAX_NODE_ID_BYTES,
  published_node_ids: MAX_NODE_ID_BYTES,
};

/** Fields whose elements together have a limit: mount flags of csi.v1, section "VolumeCapability". */
export const LIST_LIMITS: Readonly<Record<string, number>> = { mount_flags: MAX_MAP_BYTES };

/** Paths that a plugin makes or reads things at: a relative one would be in its own working folder. */
export const ABSOLUTE_PATHS: ReadonlySet<string> = new Set([
  "staging_target_path",
  "target_path",
  "volume_publish_path",
]);

/** Numbers that are OUT_OF_RANGE when negative, not INVALID_ARGUMENT (section "GetMetadataAllocated Errors"). */
export const OFFSETS: ReadonlySet<string> = new Set(["starting_offset"]);

/** A plugin's name: a domain name of at most 63 characters (section "GetPluginInfo"). */
export const PLUGIN_NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9.]{0,61}[A-Za-z0-9])?$/;

/**
 * Section "Secrets Requirements", and the one key beside it that Kubernetes has: tokens of a pod's account, for drivers whose
 * CSIDriver object has `serviceAccountTokenInSecrets`.
 */
export const SECRET_KEY = /^(?:[-A-Za-z0-9_.]+|csi\.storage\.k8s\.io\/serviceAccount\.tokens)$/;

/** Fields that are names operators or orchestrators choose: control characters are banned there. */
export const NAMES: ReadonlySet<string> = new Set(["name"]);
/** C0 but tab, line feed and carriage return; DEL; C1. Section "CreateVolume", field `name`. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these are banned
export const BANNED = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]/;

/** One segment of a topology key of csi.v0, the name in one of csi.v1, and every topology value. */
const SEGMENT = "[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?";
/** Prefix of a topology key of csi.v1: at most 63 characters of lower-case labels, as in domain names. */
const LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?";
const PREFIX_V1 = `(?=[^/]{1,63}/)${LABEL}(?:\\.${LABEL})*`;
/** `prefix/name` or `name` (section "Topology"). csi.v0 takes upper case and underscores in the prefix, too. */
export const TOPOLOGY_KEY = {
  "csi.v1": new RegExp(`^(?:${PREFIX_V1}/)?${SEGMENT}$`),
  "csi.v0": new RegExp(`^(?:${SEGMENT}/)?${SEGMENT}$`),
} as const;
export const TOPOLOGY_VALUE = new RegExp(`^${SEGMENT}$`);
