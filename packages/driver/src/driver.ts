import type { CallContext, Services } from "@mooring/csi";
import { Pools, Snapshots, TOPOLOGY_NODE_KEY, VolumeAttachments, VolumeSets, Volumes } from "@mooring/engine";
import { KeyedLock } from "@mooring/store";
import {
  addonsCapabilities,
  controllerCapabilities,
  groupCapabilities,
  nodeCapabilities,
} from "./capabilities.ts";
import type { DriverContext, DriverOptions } from "./context.ts";
import { createSnapshot } from "./controller/create-snapshot.ts";
import { createVolume } from "./controller/create-volume.ts";
import { deleteSnapshot } from "./controller/delete-snapshot.ts";
import { deleteVolume } from "./controller/delete-volume.ts";
import { expandVolume } from "./controller/expand-volume.ts";
import { getCapacity } from "./controller/get-capacity.ts";
import { getSnapshot, listSnapshots } from "./controller/list-snapshots.ts";
import { getVolumeStatus, listVolumes } from "./controller/list-volumes.ts";
import { modifyVolume } from "./controller/modify-volume.ts";
import { publishVolume } from "./controller/publish-volume.ts";
import { unpublishVolume } from "./controller/unpublish-volume.ts";
import { validateVolumeCapabilities } from "./controller/validate-capabilities.ts";
import { getVolumeHealth, listVolumeHealth } from "./controller/volume-health.ts";
import { toCsiError } from "./errors.ts";
import { createGroupSnapshot } from "./group-controller/create.ts";
import { deleteGroupSnapshot } from "./group-controller/delete.ts";
import { getGroupSnapshot } from "./group-controller/get.ts";
import { identityService } from "./identity.ts";
import type { NodeContext } from "./node/context.ts";
import { expandOnNode } from "./node/expand.ts";
import { followVolumes } from "./node/follow-volumes.ts";
import { IoLimitKeeper } from "./node/io-limits/keeper.ts";
import { publishOnNode } from "./node/publish.ts";
import { NodeRecords } from "./node/records.ts";
import { ServedUsage } from "./node/served-usage.ts";
import { stageVolume } from "./node/stage.ts";
import { volumeStats } from "./node/stats.ts";
import { storageHealth } from "./node/storage-health.ts";
import { unpublishOnNode } from "./node/unpublish.ts";
import { unstageVolume } from "./node/unstage.ts";
import { nodeVolumeHealth } from "./node/volume-health.ts";
import { RecentList } from "./objects/recent-list.ts";
import { relatedIn } from "./objects/related.ts";
import { getAllocated } from "./snapshot-metadata/get-allocated.ts";
import { getDelta } from "./snapshot-metadata/get-delta.ts";
import { createGroup } from "./volume-group/create.ts";
import { deleteGroup, settleGroups } from "./volume-group/delete.ts";
import { getVolumeGroup, listGroups } from "./volume-group/get.ts";
import { modifyGroup } from "./volume-group/modify.ts";

const DEFAULT_MAX_VOLUMES = 1000;

/**
 * The CSI services over Mooring's volumes, for `createServer` of `@mooring/csi`. They only talk to the store and, in
 * the node service, to this machine; an agent (`startAgent`) and the arbiter (`startArbiter`) have to run on the same
 * store for anything to happen.
 */
export function createDriver({ signal, ...options }: DriverOptions): Services {
  const driver: DriverContext = {
    version: "0.1.0",
    maxVolumesPerNode: DEFAULT_MAX_VOLUMES,
    nodeOnly: false,
    alone: false,
    cgroupRoot: undefined,
    keepGroupVolumes: false,
    lists: {
      volumes: new RecentList(options.store, Volumes),
      snapshots: new RecentList(options.store, Snapshots),
      attachments: new RecentList(options.store, VolumeAttachments),
      pools: new RecentList(options.store, Pools),
      sets: new RecentList(options.store, VolumeSets),
    },
    ioLimits: undefined,
    related: relatedIn(options.store, options.mode === "node" ? undefined : signal),
    ...options,
  };
  const node = driver.mode === "controller" ? undefined : nodeContext(driver, signal);
  driver.ioLimits = node?.ioLimits;
  if (driver.mode !== "node" && signal !== undefined) void settleGroups(driver, signal);
  return {
    identity: identityService(driver),
    ...(driver.mode === "node"
      ? {}
      : {
          controller: controllerService(driver),
          groupController: groupService(driver),
          volumeGroup: volumeGroupService(driver),
        }),
    ...(node === undefined ? {} : { node: nodeService(node) }),
    // In a plugin without controllers there are no snapshots.
    ...(driver.nodeOnly ? {} : { snapshotMetadata: snapshotMetadataService(driver) }),
    // The rest of its responses follow from the identity of the plugin.
    addonsIdentity: { getCapabilities: () => addonsCapabilities(driver) },
  };
}

type Handler<C, Q, A> = (context: C, request: Q, call: CallContext) => Promise<A>;

/** Binds handlers to their context, and turns every failure into the CSI error that it is. */
function binder<C>(
  context: C,
): <Q, A>(handler: Handler<C, Q, A>) => (request: Q, call: CallContext) => Promise<A> {
  return (handler) => async (request, call) => {
    try {
      return await handler(context, request, call);
    } catch (error) {
      throw toCsiError(error);
    }
  };
}

/** The same for handlers that return a stream, which fail while it is read. */
function streamBinder<C>(
  context: C,
): <Q, A>(
  handler: (context: C, request: Q, call: CallContext) => AsyncIterable<A>,
) => (request: Q, call: CallContext) => AsyncIterable<A> {
  return (handler) =>
    async function* bound(request, call) {
      try {
        yield* handler(context, request, call);
      } catch (error) {
        throw toCsiError(error);
      }
    };
}

function snapshotMetadataService(driver: DriverContext): NonNullable<Services["snapshotMetadata"]> {
  const bind = streamBinder(driver);
  return { getMetadataAllocated: bind(getAllocated), getMetadataDelta: bind(getDelta) };
}

function controllerService(driver: DriverContext): NonNullable<Services["controller"]> {
  const bind = binder(driver);
  return {
    controllerGetCapabilities: controllerCapabilities,
    createVolume: bind(createVolume),
    deleteVolume: bind(deleteVolume),
    controllerPublishVolume: bind(publishVolume),
    controllerUnpublishVolume: bind(unpublishVolume),
    validateVolumeCapabilities: bind(validateVolumeCapabilities),
    listVolumes: bind(listVolumes),
    controllerGetVolume: bind(getVolumeStatus),
    getCapacity: bind(getCapacity),
    createSnapshot: bind(createSnapshot),
    deleteSnapshot: bind(deleteSnapshot),
    listSnapshots: bind(listSnapshots),
    getSnapshot: bind(getSnapshot),
    controllerExpandVolume: bind(expandVolume),
    controllerModifyVolume: bind(modifyVolume),
    controllerListVolumeHealth: bind(listVolumeHealth),
    controllerGetVolumeHealth: bind(getVolumeHealth),
  };
}

function groupService(driver: DriverContext): NonNullable<Services["groupController"]> {
  const bind = binder(driver);
  return {
    groupControllerGetCapabilities: groupCapabilities,
    createVolumeGroupSnapshot: bind(createGroupSnapshot),
    deleteVolumeGroupSnapshot: bind(deleteGroupSnapshot),
    getVolumeGroupSnapshot: bind(getGroupSnapshot),
  };
}

function volumeGroupService(driver: DriverContext): NonNullable<Services["volumeGroup"]> {
  const bind = binder(driver);
  return {
    createVolumeGroup: bind(createGroup),
    modifyVolumeGroupMembership: bind(modifyGroup),
    deleteVolumeGroup: bind(deleteGroup),
    controllerGetVolumeGroup: bind(getVolumeGroup),
    listVolumeGroups: bind(listGroups),
  };
}

function nodeContext(driver: DriverContext, signal: AbortSignal | undefined): NodeContext {
  const node: NodeContext = {
    ...driver,
    records: new NodeRecords(driver.stateDir),
    servedUsage: new ServedUsage(driver.host.exec),
    tuning: new KeyedLock(),
  };
  const limits = new IoLimitKeeper(node);
  node.ioLimits = limits;
  if (signal !== undefined) {
    void followVolumes(node, signal);
    void limits.run(signal);
  }
  return node;
}

function nodeService(node: NodeContext): NonNullable<Services["node"]> {
  const bind = binder(node);
  return {
    nodeGetCapabilities: nodeCapabilities,
    nodeGetInfo: () => ({
      nodeId: node.nodeID,
      maxVolumesPerNode: BigInt(node.maxVolumesPerNode),
      accessibleTopology: { segments: { [TOPOLOGY_NODE_KEY]: node.nodeID } },
    }),
    nodeStageVolume: bind(stageVolume),
    nodeUnstageVolume: bind(unstageVolume),
    nodePublishVolume: bind(publishOnNode),
    nodeUnpublishVolume: bind(unpublishOnNode),
    nodeGetVolumeStats: bind(volumeStats),
    nodeExpandVolume: bind(expandOnNode),
    nodeGetVolumeHealth: bind(nodeVolumeHealth),
    nodeGetStorageHealth: bind(storageHealth),
  };
}
