import type { DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import * as v0 from "../gen/csi/v0/csi_pb.ts";
import * as v1 from "../gen/csi/v1/csi_pb.ts";
import { topology, withCapacityRange, withRequirements } from "./convert.ts";
import * as to from "./from-v1.ts";

/** How one method of csi.v1 is done by one of csi.v0. */
interface Row {
  readonly from: DescMethodUnary;
  readonly to: DescMethodUnary;
  request(request: never): object;
  response(response: never, request: never): object;
}

/** Checks a row of the table below; the table itself then only needs the shapes in common. */
function row<A extends DescMethodUnary, B extends DescMethodUnary>(
  from: A,
  by: B,
  request: (request: MessageShape<A["input"]>) => MessageInitShape<B["input"]>,
  response: (
    response: MessageShape<B["output"]>,
    request: MessageShape<A["input"]>,
  ) => MessageInitShape<A["output"]>,
): Row {
  return { from, to: by, request, response } as Row;
}

const nothing = (): object => ({});
const { Controller: C0, Identity: I0, Node: N0 } = v0;
const { Controller: C1, Identity: I1, Node: N1 } = v1;

/** The methods of csi.v1 that csi.v0 has as well, in the order of their specification. */
export const CLIENT_METHODS: readonly Row[] = [
  row(I1.method.getPluginInfo, I0.method.getPluginInfo, nothing, (a) => ({
    ...{ name: a.name, vendorVersion: a.vendorVersion, manifest: a.manifest },
  })),
  row(I1.method.getPluginCapabilities, I0.method.getPluginCapabilities, nothing, (a) => ({
    // The same numbers.
    capabilities: a.capabilities.flatMap(({ type }) =>
      type.case === "service"
        ? [{ type: { case: "service" as const, value: { type: type.value.type as number } } }]
        : [],
    ),
  })),
  row(I1.method.probe, I0.method.probe, nothing, (a) => (a.ready === undefined ? {} : { ready: a.ready })),

  row(
    C1.method.createVolume,
    C0.method.createVolume,
    (r) => {
      to.requireNone(r.mutableParameters);
      return {
        name: r.name,
        volumeCapabilities: r.volumeCapabilities.map(to.capability),
        parameters: r.parameters,
        controllerCreateSecrets: r.secrets,
        ...withCapacityRange(r.capacityRange),
        ...to.withSource(r.volumeContentSource),
        ...withRequirements(r.accessibilityRequirements),
      };
    },
    (a) => (a.volume === undefined ? {} : { volume: to.volume(a.volume) }),
  ),
  row(
    C1.method.deleteVolume,
    C0.method.deleteVolume,
    (r) => ({ volumeId: r.volumeId, controllerDeleteSecrets: r.secrets }),
    nothing,
  ),
  row(
    C1.method.controllerPublishVolume,
    C0.method.controllerPublishVolume,
    (r) => ({
      volumeId: r.volumeId,
      nodeId: r.nodeId,
      readonly: r.readonly,
      controllerPublishSecrets: r.secrets,
      volumeAttributes: r.volumeContext,
      ...to.withCapability(r.volumeCapability),
    }),
    (a) => ({ publishContext: a.publishInfo }),
  ),
  row(
    C1.method.controllerUnpublishVolume,
    C0.method.controllerUnpublishVolume,
    (r) => ({ volumeId: r.volumeId, nodeId: r.nodeId, controllerUnpublishSecrets: r.secrets }),
    nothing,
  ),
  row(
    C1.method.validateVolumeCapabilities,
    C0.method.validateVolumeCapabilities,
    (r) => ({
      volumeId: r.volumeId,
      volumeAttributes: r.volumeContext,
      volumeCapabilities: r.volumeCapabilities.map(to.capability),
    }),
    (a, { volumeCapabilities, volumeContext }) => ({
      message: a.message,
      ...(a.supported ? { confirmed: { volumeCapabilities, volumeContext } } : {}),
    }),
  ),
  row(
    C1.method.listVolumes,
    C0.method.listVolumes,
    ({ maxEntries, startingToken }) => ({ maxEntries, startingToken }),
    (a) => ({
      nextToken: a.nextToken,
      entries: a.entries.map((entry) => (entry.volume ? { volume: to.volume(entry.volume) } : {})),
    }),
  ),
  row(
    C1.method.getCapacity,
    C0.method.getCapacity,
    (r) => ({
      volumeCapabilities: r.volumeCapabilities.map(to.capability),
      parameters: r.parameters,
      ...(r.accessibleTopology ? { accessibleTopology: topology(r.accessibleTopology) } : {}),
    }),
    (a) => ({ availableCapacity: a.availableCapacity }),
  ),
  row(C1.method.controllerGetCapabilities, C0.method.controllerGetCapabilities, nothing, (a) => ({
    capabilities: a.capabilities.map(({ type }) => rpc(type.value?.type)),
  })),
  row(
    C1.method.createSnapshot,
    C0.method.createSnapshot,
    ({ sourceVolumeId, name, secrets, parameters }) => ({
      ...{ sourceVolumeId, name, parameters, createSnapshotSecrets: secrets },
    }),
    (a) => (a.snapshot === undefined ? {} : { snapshot: to.newSnapshot(a.snapshot) }),
  ),
  row(
    C1.method.deleteSnapshot,
    C0.method.deleteSnapshot,
    (r) => ({ snapshotId: r.snapshotId, deleteSnapshotSecrets: r.secrets }),
    nothing,
  ),
  row(
    C1.method.listSnapshots,
    C0.method.listSnapshots,
    ({ maxEntries, startingToken, sourceVolumeId, snapshotId }) => ({
      ...{ maxEntries, startingToken, sourceVolumeId, snapshotId },
    }),
    (a) => ({
      nextToken: a.nextToken,
      entries: a.entries.map((entry) => (entry.snapshot ? { snapshot: to.snapshot(entry.snapshot) } : {})),
    }),
  ),

  row(
    N1.method.nodeStageVolume,
    N0.method.nodeStageVolume,
    (r) => ({
      volumeId: r.volumeId,
      publishInfo: r.publishContext,
      stagingTargetPath: r.stagingTargetPath,
      nodeStageSecrets: r.secrets,
      volumeAttributes: r.volumeContext,
      ...to.withCapability(r.volumeCapability),
    }),
    nothing,
  ),
  row(
    N1.method.nodeUnstageVolume,
    N0.method.nodeUnstageVolume,
    ({ volumeId, stagingTargetPath }) => ({ volumeId, stagingTargetPath }),
    nothing,
  ),
  row(
    N1.method.nodePublishVolume,
    N0.method.nodePublishVolume,
    (r) => ({
      volumeId: r.volumeId,
      publishInfo: r.publishContext,
      stagingTargetPath: r.stagingTargetPath,
      targetPath: r.targetPath,
      readonly: r.readonly,
      nodePublishSecrets: r.secrets,
      volumeAttributes: r.volumeContext,
      ...to.withCapability(r.volumeCapability),
    }),
    nothing,
  ),
  row(
    N1.method.nodeUnpublishVolume,
    N0.method.nodeUnpublishVolume,
    ({ volumeId, targetPath }) => ({ volumeId, targetPath }),
    nothing,
  ),
  row(N1.method.nodeGetCapabilities, N0.method.nodeGetCapabilities, nothing, (a) => ({
    capabilities: a.capabilities.map(({ type }) => rpc(type.value?.type)),
  })),
  row(N1.method.nodeGetInfo, N0.method.nodeGetInfo, nothing, (a) => ({
    nodeId: a.nodeId,
    maxVolumesPerNode: a.maxVolumesPerNode,
    ...(a.accessibleTopology ? { accessibleTopology: topology(a.accessibleTopology) } : {}),
  })),
];

/** A capability that both versions have under the same number. */
const rpc = (type: number | undefined) => ({ type: { case: "rpc" as const, value: { type: type ?? 0 } } });
