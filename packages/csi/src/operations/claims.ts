import type { DescMethod, DescService, Message, MessageShape } from "@bufbuild/protobuf";
import type { Call } from "../calls/interceptor.ts";
import type * as v1 from "../gen/csi/v1/csi_pb.ts";
import type * as volumegroup from "../gen/volumegroup/volumegroup_pb.ts";
import { type ServiceName, services } from "../wire/services.ts";
import type { Claim } from "./locks.ts";

const exclusive = (key: string): Claim => ({ key, mode: "exclusive" });
const shared = (key: string): Claim => ({ key, mode: "shared" });
const volume = (id: string): string => `volume ${id}`;
const snapshot = (id: string): string => `snapshot ${id}`;

function createVolume(request: v1.CreateVolumeRequest): Claim[] {
  const claims = [exclusive(`volume name ${request.name}`)];
  const { type } = request.volumeContentSource ?? {};
  if (type?.case === "volume") claims.push(shared(volume(type.value.volumeId)));
  if (type?.case === "snapshot") claims.push(shared(snapshot(type.value.snapshotId)));
  return claims;
}

function createSnapshot({ name, sourceVolumeId }: v1.CreateSnapshotRequest): Claim[] {
  return [exclusive(`snapshot name ${name}`), shared(volume(sourceVolumeId))];
}

function createGroupSnapshot(request: v1.CreateVolumeGroupSnapshotRequest): Claim[] {
  return [
    exclusive(`group snapshot name ${request.name}`),
    ...[...new Set(request.sourceVolumeIds)].map((id) => shared(volume(id))),
  ];
}

function createGroup({ name, volumeIds }: volumegroup.CreateVolumeGroupRequest): Claim[] {
  return [
    exclusive(`volume group name ${name}`),
    ...[...new Set(volumeIds)].map((id) => exclusive(volume(id))),
  ];
}

function modifyGroup(request: volumegroup.ModifyVolumeGroupMembershipRequest): Claim[] {
  return [
    exclusive(`volume group ${request.volumeGroupId}`),
    ...[...new Set(request.volumeIds)].map((id) => exclusive(volume(id))),
  ];
}

const byVolume = ({ volumeId }: { volumeId: string }): Claim[] => [exclusive(volume(volumeId))];
const bySnapshot = ({ snapshotId }: { snapshotId: string }): Claim[] => [exclusive(snapshot(snapshotId))];
const byGroup = ({ groupSnapshotId }: { groupSnapshotId: string }): Claim[] => [
  exclusive(`group snapshot ${groupSnapshotId}`),
];
// Controller and node side of one volume do not exclude each other: a node may be another process altogether.
const byNodeVolume = ({ volumeId }: { volumeId: string }): Claim[] => [exclusive(`node volume ${volumeId}`)];

const byVolumeGroup = ({ volumeGroupId }: { volumeGroupId: string }): Claim[] => [
  exclusive(`volume group ${volumeGroupId}`),
];
/** Methods that only read never wait. */
const nothing = (): Claim[] => [];

/** What each method of a service locks: one without a row does not compile. */
type Rows<S extends DescService> = {
  readonly [M in keyof S["method"]]: (request: MessageShape<S["method"][M]["input"]>) => Claim[];
};

const TABLE: { readonly [S in ServiceName]: Rows<(typeof services)[S]> } = {
  identity: { getPluginInfo: nothing, getPluginCapabilities: nothing, probe: nothing },
  controller: {
    createVolume,
    deleteVolume: byVolume,
    controllerPublishVolume: byVolume,
    controllerUnpublishVolume: byVolume,
    controllerExpandVolume: byVolume,
    controllerModifyVolume: byVolume,
    createSnapshot,
    deleteSnapshot: bySnapshot,
    validateVolumeCapabilities: nothing,
    listVolumes: nothing,
    getCapacity: nothing,
    controllerGetCapabilities: nothing,
    listSnapshots: nothing,
    getSnapshot: nothing,
    controllerGetVolume: nothing,
    controllerListVolumeHealth: nothing,
    controllerGetVolumeHealth: nothing,
  },
  groupController: {
    createVolumeGroupSnapshot: createGroupSnapshot,
    deleteVolumeGroupSnapshot: byGroup,
    groupControllerGetCapabilities: nothing,
    getVolumeGroupSnapshot: nothing,
  },
  snapshotMetadata: { getMetadataAllocated: nothing, getMetadataDelta: nothing },
  node: {
    nodeStageVolume: byNodeVolume,
    nodeUnstageVolume: byNodeVolume,
    nodePublishVolume: byNodeVolume,
    nodeUnpublishVolume: byNodeVolume,
    nodeExpandVolume: byNodeVolume,
    nodeGetVolumeStats: nothing,
    nodeGetVolumeHealth: nothing,
    nodeGetStorageHealth: nothing,
    nodeGetCapabilities: nothing,
    nodeGetInfo: nothing,
  },
  volumeGroup: {
    createVolumeGroup: createGroup,
    modifyVolumeGroupMembership: modifyGroup,
    deleteVolumeGroup: byVolumeGroup,
    listVolumeGroups: nothing,
    controllerGetVolumeGroup: nothing,
  },
  addonsIdentity: { getIdentity: nothing, getCapabilities: nothing, probe: nothing },
};

type AnyRow = (request: Message) => Claim[];
const ROWS = new Map<DescMethod, AnyRow | undefined>(
  Object.entries(services).flatMap(([service, { methods }]) => {
    const rows = TABLE[service as ServiceName] as unknown as Readonly<Record<string, AnyRow>>;
    return methods.map((method): [DescMethod, AnyRow | undefined] => [method, rows[method.localName]]);
  }),
);

/** The claims of one call of csi.v1 or of the add-ons; empty for methods that change nothing. */
export function claimsOf({ method, request }: Pick<Call, "method" | "request">): Claim[] {
  return ROWS.get(method)?.(request) ?? [];
}
