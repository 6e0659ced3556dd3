import {
  ConfigMaps,
  CSIDrivers,
  CSINodes,
  CSIStorageCapacities,
  Events,
  KubeVolumeAttachments,
  Leases,
  Namespaces,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  Pods,
  type Resource,
  ResourceRegistry,
  Secrets,
  StorageClasses,
  type UnstructuredObject,
  VolumeAttributesClasses,
  VolumeGroupSnapshotClasses,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  VolumeSnapshotClasses,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { VolumeGroupClones } from "../kube/group-clone.ts";
import { VolumeGroupRestores } from "../kube/group-restore.ts";
import { VolumeGroupClasses, VolumeGroupContents, VolumeGroups } from "../volume-group/api.ts";

const WITH_STATUS = [
  KubeVolumeAttachments,
  Namespaces,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  Pods,
  VolumeGroupClones,
  VolumeGroupRestores,
  VolumeGroupSnapshotContents,
  VolumeGroupContents,
  VolumeGroupSnapshots,
  VolumeGroups,
  VolumeSnapshotContents,
  VolumeSnapshots,
];
const WITHOUT_STATUS = [
  ConfigMaps,
  CSIDrivers,
  CSINodes,
  CSIStorageCapacities,
  Leases,
  Secrets,
  StorageClasses,
  VolumeAttributesClasses,
  VolumeGroupClasses,
  VolumeGroupSnapshotClasses,
  VolumeSnapshotClasses,
];

const reasonOf = (event: UnstructuredObject) => ({ reason: String(event["reason"] ?? "") });

/** The kinds that sidecars touch, without schemas. */
export function testRegistry(): ResourceRegistry {
  const define = (hasStatus: boolean) => (resource: Resource) => ({ resource, hasStatus });
  return new ResourceRegistry([
    ...(WITH_STATUS as Resource[]).map(define(true)),
    ...(WITHOUT_STATUS as Resource[]).map(define(false)),
    { resource: Events, hasStatus: false, strategy: { selectableFields: reasonOf } },
  ]);
}
