import { addons, v1 } from "@mooring/csi";
import type { DriverContext } from "./context.ts";

const { ControllerServiceCapability_RPC_Type: Rpc, NodeServiceCapability_RPC_Type: NodeRpc } = v1;
const { PluginCapability_Service_Type: Service, PluginCapability_VolumeExpansion_Type: Expansion } = v1;

/** Everything the controller service does; what is not here is not served. */
const CONTROLLER = [
  Rpc.CREATE_DELETE_VOLUME,
  Rpc.PUBLISH_UNPUBLISH_VOLUME,
  Rpc.LIST_VOLUMES,
  Rpc.GET_CAPACITY,
  Rpc.CREATE_DELETE_SNAPSHOT,
  Rpc.LIST_SNAPSHOTS,
  Rpc.CLONE_VOLUME,
  Rpc.PUBLISH_READONLY,
  Rpc.EXPAND_VOLUME,
  Rpc.LIST_VOLUMES_PUBLISHED_NODES,
  Rpc.VOLUME_CONDITION,
  Rpc.GET_VOLUME,
  Rpc.SINGLE_NODE_MULTI_WRITER,
  Rpc.MODIFY_VOLUME,
  Rpc.GET_SNAPSHOT,
  Rpc.GET_VOLUME_HEALTH,
  Rpc.LIST_VOLUME_HEALTH,
];

const { GroupControllerServiceCapability_RPC_Type: GroupRpc } = v1;
const GROUP = [GroupRpc.CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT];

const NODE = [
  NodeRpc.STAGE_UNSTAGE_VOLUME,
  NodeRpc.GET_VOLUME_STATS,
  NodeRpc.EXPAND_VOLUME,
  NodeRpc.VOLUME_CONDITION,
  NodeRpc.SINGLE_NODE_MULTI_WRITER,
  NodeRpc.GET_VOLUME_HEALTH,
  NodeRpc.GET_STORAGE_HEALTH,
];

/** Of the plugin as a whole. */
const SERVICES = [
  Service.CONTROLLER_SERVICE,
  Service.GROUP_CONTROLLER_SERVICE,
  Service.VOLUME_ACCESSIBILITY_CONSTRAINTS,
  Service.SNAPSHOT_METADATA_SERVICE,
  Service.SNAPSHOT_ACCESSIBILITY_CONSTRAINTS,
];

/** What ControllerGetCapabilities returns. */
export function controllerCapabilities() {
  return { capabilities: CONTROLLER.map((type) => ({ type: { case: "rpc" as const, value: { type } } })) };
}

/** What GroupControllerGetCapabilities returns. */
export function groupCapabilities() {
  return { capabilities: GROUP.map((type) => ({ type: { case: "rpc" as const, value: { type } } })) };
}

/** What NodeGetCapabilities returns. */
export function nodeCapabilities() {
  return { capabilities: NODE.map((type) => ({ type: { case: "rpc" as const, value: { type } } })) };
}

/**
 * What the plugin can do as a whole: every instance reports the same, whatever it serves itself (section
 * "GetPluginCapabilities"). A node-only plugin has no controller services anywhere: nothing in it makes a snapshot or
 * asks for a larger volume.
 */
export function pluginCapabilities({ nodeOnly }: Pick<DriverContext, "nodeOnly">) {
  const services = nodeOnly ? [Service.VOLUME_ACCESSIBILITY_CONSTRAINTS] : SERVICES;
  const expansions = nodeOnly ? [] : [Expansion.ONLINE];
  return {
    capabilities: [
      ...services.map((type) => ({ type: { case: "service" as const, value: { type } } })),
      ...expansions.map((type) => ({ type: { case: "volumeExpansion" as const, value: { type } } })),
    ],
  };
}

const { Capability_Service_Type: AddonsService, Capability_VolumeGroup_Type: VolumeGroup } = addons;

/** A volume is in one group at most, and every call of the service is served. */
const VOLUME_GROUP = [
  VolumeGroup.VOLUME_GROUP,
  VolumeGroup.LIMIT_VOLUME_TO_ONE_VOLUME_GROUP,
  VolumeGroup.MODIFY_VOLUME_GROUP,
  VolumeGroup.GET_VOLUME_GROUP,
  VolumeGroup.LIST_VOLUME_GROUPS,
];

/**
 * What this instance reports to the add-ons. `DO_NOT_ALLOW_VG_TO_DELETE_VOLUMES` applies to a plugin as a whole, so it is
 * reported where no group deletes volumes; that a single group does not, its own context shows.
 */
export function addonsCapabilities({
  mode,
  keepGroupVolumes,
}: Pick<DriverContext, "mode" | "keepGroupVolumes">) {
  const services = [
    ...(mode === "node" ? [] : [AddonsService.CONTROLLER_SERVICE]),
    ...(mode === "controller" ? [] : [AddonsService.NODE_SERVICE]),
  ];
  const keeps = keepGroupVolumes ? [VolumeGroup.DO_NOT_ALLOW_VG_TO_DELETE_VOLUMES] : [];
  const groups = mode === "node" ? [] : [...VOLUME_GROUP, ...keeps].sort((a, b) => a - b);
  return {
    capabilities: [
      ...services.map((type) => ({ type: { case: "service" as const, value: { type } } })),
      ...groups.map((type) => ({ type: { case: "volumeGroup" as const, value: { type } } })),
    ],
  };
}
