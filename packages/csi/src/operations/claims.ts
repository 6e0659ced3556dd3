import type { Message } from "@bufbuild/protobuf";
import type * as v1 from "../gen/csi/v1/csi_pb.ts";
import type * as volumegroup from "../gen/volumegroup/volumegroup_pb.ts";
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

type Claims = (request: never) => Claim[];
type ByVolumeGroup = Pick<volumegroup.DeleteVolumeGroupRequest, "volumeGroupId">;

/** What each method that changes something locks while it runs. Methods that only read lock nothing and never wait. */
const TABLE: Readonly<Record<string, Claims>> = {
  "csi.v1.Controller/CreateVolume": createVolume,
  "csi.v1.Controller/DeleteVolume": byVolume,
  "csi.v1.Controller/ControllerPublishVolume": byVolume,
  "csi.v1.Controller/ControllerUnpublishVolume": byVolume,
  "csi.v1.Controller/ControllerExpandVolume": byVolume,
  "csi.v1.Controller/ControllerModifyVolume": byVolume,
  "csi.v1.Controller/CreateSnapshot": createSnapshot,
  "csi.v1.Controller/DeleteSnapshot": bySnapshot,
  "csi.v1.GroupController/CreateVolumeGroupSnapshot": createGroupSnapshot,
  "csi.v1.GroupController/DeleteVolumeGroupSnapshot": byGroup,
  "volumegroup.Controller/CreateVolumeGroup": createGroup,
  "volumegroup.Controller/ModifyVolumeGroupMembership": modifyGroup,
  "volumegroup.Controller/DeleteVolumeGroup": ({ volumeGroupId }: ByVolumeGroup) => [
    exclusive(`volume group ${volumeGroupId}`),
  ],
  "csi.v1.Node/NodeStageVolume": byNodeVolume,
  "csi.v1.Node/NodeUnstageVolume": byNodeVolume,
  "csi.v1.Node/NodePublishVolume": byNodeVolume,
  "csi.v1.Node/NodeUnpublishVolume": byNodeVolume,
  "csi.v1.Node/NodeExpandVolume": byNodeVolume,
};

/** The claims of one call; empty for methods that change nothing. */
export function claimsOf(method: string, request: Message): Claim[] {
  return TABLE[method]?.(request as never) ?? [];
}
