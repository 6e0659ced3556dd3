import * as v1 from "../gen/csi/v1/csi_pb.ts";
import * as addons from "../gen/identity/identity_pb.ts";
import type { AnyHandlers } from "../wire/handlers.ts";

const { ControllerServiceCapability_RPC_Type: Controller, NodeServiceCapability_RPC_Type: Node } = v1;
const { GroupControllerServiceCapability_RPC_Type: Group, PluginCapability_Service_Type: Plugin } = v1;
const { Capability_VolumeGroup_Type: VolumeGroup } = addons;

/** Names of a generated enum without its zero value. */
type Names<E> = Exclude<keyof E, "UNKNOWN"> & string;

/**
 * What handlers cannot show by being there. Everything else that a plugin can do is read off the handlers it has.
 */
export interface ExtraCapabilities {
  plugin?: readonly Names<typeof Plugin>[];
  /** Whether volumes can grow while they are in use. */
  expansion?: readonly Names<typeof v1.PluginCapability_VolumeExpansion_Type>[];
  controller?: readonly Names<typeof Controller>[];
  node?: readonly Names<typeof Node>[];
  volumeGroup?: readonly Names<typeof VolumeGroup>[];
}

/** The methods that must all be there for a capability to be announced. */
type Rules<E> = Partial<Record<Names<E>, readonly string[]>>;

const CONTROLLER: Rules<typeof Controller> = {
  CREATE_DELETE_VOLUME: ["createVolume", "deleteVolume"],
  PUBLISH_UNPUBLISH_VOLUME: ["controllerPublishVolume", "controllerUnpublishVolume"],
  LIST_VOLUMES: ["listVolumes"],
  GET_CAPACITY: ["getCapacity"],
  CREATE_DELETE_SNAPSHOT: ["createSnapshot", "deleteSnapshot"],
  LIST_SNAPSHOTS: ["listSnapshots"],
  EXPAND_VOLUME: ["controllerExpandVolume"],
  GET_VOLUME: ["controllerGetVolume"],
  MODIFY_VOLUME: ["controllerModifyVolume"],
  GET_SNAPSHOT: ["getSnapshot"],
  GET_VOLUME_HEALTH: ["controllerGetVolumeHealth"],
  LIST_VOLUME_HEALTH: ["controllerListVolumeHealth", "controllerGetVolumeHealth"],
};

const NODE: Rules<typeof Node> = {
  STAGE_UNSTAGE_VOLUME: ["nodeStageVolume", "nodeUnstageVolume"],
  GET_VOLUME_STATS: ["nodeGetVolumeStats"],
  EXPAND_VOLUME: ["nodeExpandVolume"],
  GET_VOLUME_HEALTH: ["nodeGetVolumeHealth"],
  GET_STORAGE_HEALTH: ["nodeGetStorageHealth"],
};

const GROUP: Rules<typeof Group> = {
  CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT: [
    "createVolumeGroupSnapshot",
    "deleteVolumeGroupSnapshot",
    "getVolumeGroupSnapshot",
  ],
};

const VOLUME_GROUP: Rules<typeof VolumeGroup> = {
  VOLUME_GROUP: ["createVolumeGroup", "deleteVolumeGroup"],
  MODIFY_VOLUME_GROUP: ["modifyVolumeGroupMembership"],
  GET_VOLUME_GROUP: ["controllerGetVolumeGroup"],
  LIST_VOLUME_GROUPS: ["listVolumeGroups"],
};

function names<E>(rules: Rules<E>, handlers: AnyHandlers, extra: readonly Names<E>[] = []): Names<E>[] {
  const entries = Object.entries(rules) as [Names<E>, readonly string[]][];
  const shown = entries.filter(([, methods]) =>
    methods.every((name) => typeof handlers[name] === "function"),
  );
  return [...new Set([...shown.map(([name]) => name), ...extra])];
}

const rpc = <T>(type: T) => ({ type: { case: "rpc" as const, value: { type } } });

/** The response to ControllerGetCapabilities. */
export function controllerCapabilities(handlers: AnyHandlers, extra: ExtraCapabilities) {
  const all = names<typeof Controller>(CONTROLLER, handlers, extra.controller);
  return { capabilities: all.map((name) => rpc(Controller[name])) };
}

/** The response to NodeGetCapabilities. */
export function nodeCapabilities(handlers: AnyHandlers, extra: ExtraCapabilities) {
  const all = names<typeof Node>(NODE, handlers, extra.node);
  return { capabilities: all.map((name) => rpc(Node[name])) };
}

/** The response to GroupControllerGetCapabilities. */
export function groupCapabilities(handlers: AnyHandlers) {
  return { capabilities: names<typeof Group>(GROUP, handlers).map((name) => rpc(Group[name])) };
}

/** The response to GetPluginCapabilities. */
export function pluginCapabilities(served: Readonly<Record<string, unknown>>, extra: ExtraCapabilities) {
  const services: Names<typeof Plugin>[] = [
    ...(served.controller ? (["CONTROLLER_SERVICE"] as const) : []),
    ...(served.groupController ? (["GROUP_CONTROLLER_SERVICE"] as const) : []),
    ...(served.snapshotMetadata ? (["SNAPSHOT_METADATA_SERVICE"] as const) : []),
    ...(extra.plugin ?? []),
  ];
  return {
    capabilities: [
      ...[...new Set(services)].map((name) => ({
        type: { case: "service" as const, value: { type: Plugin[name] } },
      })),
      ...(extra.expansion ?? []).map((name) => ({
        type: {
          case: "volumeExpansion" as const,
          value: { type: v1.PluginCapability_VolumeExpansion_Type[name] },
        },
      })),
    ],
  };
}

/** The response to the add-ons' GetCapabilities. */
export function addonsCapabilities(served: Readonly<Record<string, unknown>>, extra: ExtraCapabilities) {
  const handlers = (served.volumeGroup ?? {}) as AnyHandlers;
  const types = addons.Capability_Service_Type;
  const services = [
    ...(served.controller ? [types.CONTROLLER_SERVICE] : []),
    ...(served.node ? [types.NODE_SERVICE] : []),
  ];
  return {
    capabilities: [
      ...services.map((type) => ({ type: { case: "service" as const, value: { type } } })),
      ...names<typeof VolumeGroup>(VOLUME_GROUP, handlers, extra.volumeGroup).map((name) => ({
        type: { case: "volumeGroup" as const, value: { type: VolumeGroup[name] } },
      })),
    ],
  };
}
