import type { DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import * as v0 from "../gen/csi/v0/csi_pb.ts";
import * as v1 from "../gen/csi/v1/csi_pb.ts";
import * as to from "./convert.ts";

/** How one method of csi.v0 is done by one of csi.v1. */
interface Bridge {
  readonly from: DescMethodUnary;
  readonly to: DescMethodUnary;
  request(request: never): object;
  response(response: never): object;
}

/** Checks a row of the table below; the table itself then only needs the shapes in common. */
function bridge<A extends DescMethodUnary, B extends DescMethodUnary>(
  from: A,
  by: B,
  request: (request: MessageShape<A["input"]>) => MessageInitShape<B["input"]>,
  response: (response: MessageShape<B["output"]>) => MessageInitShape<A["output"]>,
): Bridge {
  return { from, to: by, request, response } as Bridge;
}

const nothing = (): object => ({});
const { Controller: C0, Identity: I0, Node: N0 } = v0;
const { Controller: C1, Identity: I1, Node: N1 } = v1;
const ControllerTypes = v0.ControllerServiceCapability_RPC_Type;

/** Every method of csi.v0, in the order of its specification. */
export const BRIDGES: readonly Bridge[] = [
  bridge(I0.method.getPluginInfo, I1.method.getPluginInfo, nothing, (a) => ({
    name: a.name,
    vendorVersion: a.vendorVersion,
    manifest: a.manifest,
  })),
  bridge(I0.method.getPluginCapabilities, I1.method.getPluginCapabilities, nothing, (a) => ({
    // csi.v0 has the first two services, with the same numbers, and nothing else.
    capabilities: a.capabilities
      .map(({ type }) => (type.case === "service" ? (type.value.type as number) : 0))
      .filter((type) => type === 1 || type === 2)
      .map((type) => ({ type: { case: "service" as const, value: { type } } })),
  })),
  bridge(I0.method.probe, I1.method.probe, nothing, (a) => (a.ready === undefined ? {} : { ready: a.ready })),

  bridge(
    C0.method.createVolume,
    C1.method.createVolume,
    (r) => ({
      name: r.name,
      volumeCapabilities: r.volumeCapabilities.map(to.capability),
      parameters: r.parameters,
      secrets: r.controllerCreateSecrets,
      ...to.withCapacityRange(r.capacityRange),
      ...to.withSource(r.volumeContentSource),
      ...to.withRequirements(r.accessibilityRequirements),
    }),
    (a) => (a.volume === undefined ? {} : { volume: to.volume(a.volume) }),
  ),
  bridge(
    C0.method.deleteVolume,
    C1.method.deleteVolume,
    (r) => ({ volumeId: r.volumeId, secrets: r.controllerDeleteSecrets }),
    nothing,
  ),
  bridge(
    C0.method.controllerPublishVolume,
    C1.method.controllerPublishVolume,
    (r) => ({
      volumeId: r.volumeId,
      nodeId: r.nodeId,
      readonly: r.readonly,
      secrets: r.controllerPublishSecrets,
      volumeContext: r.volumeAttributes,
      ...to.withCapability(r.volumeCapability),
    }),
    (a) => ({ publishInfo: a.publishContext }),
  ),
  bridge(
    C0.method.controllerUnpublishVolume,
    C1.method.controllerUnpublishVolume,
    (r) => ({ volumeId: r.volumeId, nodeId: r.nodeId, secrets: r.controllerUnpublishSecrets }),
    nothing,
  ),
  bridge(
    C0.method.validateVolumeCapabilities,
    C1.method.validateVolumeCapabilities,
    (r) => ({
      volumeId: r.volumeId,
      volumeContext: r.volumeAttributes,
      volumeCapabilities: r.volumeCapabilities.map(to.capability),
    }),
    (a) => ({ supported: a.confirmed !== undefined, message: a.message }),
  ),
  bridge(
    C0.method.listVolumes,
    C1.method.listVolumes,
    (r) => ({ maxEntries: r.maxEntries, startingToken: r.startingToken }),
    (a) => ({
      nextToken: a.nextToken,
      entries: a.entries.map((entry) => (entry.volume ? { volume: to.volume(entry.volume) } : {})),
    }),
  ),
  bridge(
    C0.method.getCapacity,
    C1.method.getCapacity,
    (r) => ({
      volumeCapabilities: r.volumeCapabilities.map(to.capability),
      parameters: r.parameters,
      ...(r.accessibleTopology ? { accessibleTopology: to.topology(r.accessibleTopology) } : {}),
    }),
    (a) => ({ availableCapacity: a.availableCapacity }),
  ),
  bridge(C0.method.controllerGetCapabilities, C1.method.controllerGetCapabilities, nothing, (a) => ({
    capabilities: a.capabilities
      .map(({ type }) => (type.case === "rpc" ? (type.value.type as number) : 0))
      .filter((type) => type !== 0 && type in ControllerTypes)
      .map((type) => ({ type: { case: "rpc" as const, value: { type } } })),
  })),
  bridge(
    C0.method.createSnapshot,
    C1.method.createSnapshot,
    (r) => ({
      sourceVolumeId: r.sourceVolumeId,
      name: r.name,
      secrets: r.createSnapshotSecrets,
      parameters: r.parameters,
    }),
    (a) => (a.snapshot === undefined ? {} : { snapshot: to.snapshot(a.snapshot) }),
  ),
  bridge(
    C0.method.deleteSnapshot,
    C1.method.deleteSnapshot,
    (r) => ({ snapshotId: r.snapshotId, secrets: r.deleteSnapshotSecrets }),
    nothing,
  ),
  bridge(
    C0.method.listSnapshots,
    C1.method.listSnapshots,
    ({ maxEntries, startingToken, sourceVolumeId, snapshotId }) => ({
      maxEntries,
      startingToken,
      sourceVolumeId,
      snapshotId,
    }),
    (a) => ({
      nextToken: a.nextToken,
      entries: a.entries.map((entry) => (entry.snapshot ? { snapshot: to.snapshot(entry.snapshot) } : {})),
    }),
  ),

  bridge(
    N0.method.nodeStageVolume,
    N1.method.nodeStageVolume,
    (r) => ({
      volumeId: r.volumeId,
      publishContext: r.publishInfo,
      stagingTargetPath: r.stagingTargetPath,
      secrets: r.nodeStageSecrets,
      volumeContext: r.volumeAttributes,
      ...to.withCapability(r.volumeCapability),
    }),
    nothing,
  ),
  bridge(
    N0.method.nodeUnstageVolume,
    N1.method.nodeUnstageVolume,
    ({ volumeId, stagingTargetPath }) => ({ volumeId, stagingTargetPath }),
    nothing,
  ),
  bridge(
    N0.method.nodePublishVolume,
    N1.method.nodePublishVolume,
    (r) => ({
      volumeId: r.volumeId,
      publishContext: r.publishInfo,
      stagingTargetPath: r.stagingTargetPath,
      targetPath: r.targetPath,
      readonly: r.readonly,
      secrets: r.nodePublishSecrets,
      volumeContext: r.volumeAttributes,
      ...to.withCapability(r.volumeCapability),
    }),
    nothing,
  ),
  bridge(
    N0.method.nodeUnpublishVolume,
    N1.method.nodeUnpublishVolume,
    ({ volumeId, targetPath }) => ({ volumeId, targetPath }),
    nothing,
  ),
  bridge(N0.method.nodeGetId, N1.method.nodeGetInfo, nothing, (a) => ({ nodeId: a.nodeId })),
  bridge(N0.method.nodeGetCapabilities, N1.method.nodeGetCapabilities, nothing, (a) => ({
    capabilities: a.capabilities
      .map(({ type }) => (type.case === "rpc" ? (type.value.type as number) : 0))
      .filter((type) => type === v0.NodeServiceCapability_RPC_Type.STAGE_UNSTAGE_VOLUME)
      .map((type) => ({ type: { case: "rpc" as const, value: { type } } })),
  })),
  bridge(N0.method.nodeGetInfo, N1.method.nodeGetInfo, nothing, (a) => ({
    nodeId: a.nodeId,
    maxVolumesPerNode: a.maxVolumesPerNode,
    ...(a.accessibleTopology ? { accessibleTopology: to.topology(a.accessibleTopology) } : {}),
  })),
];
