import {
  ConfigMaps,
  CSIDrivers,
  CSINodes,
  CSIStorageCapacities,
  Events,
  type KubeObject,
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
import { ReferenceGrants, VolumePopulators } from "../kube/data-sources.ts";
import { VolumeGroupClones } from "../kube/group-clone.ts";
import { VolumeGroupRestores } from "../kube/group-restore.ts";
import { VolumeGroupClasses, VolumeGroupContents, VolumeGroups } from "../kube/volume-group.ts";

/** What goes through controllers until it is as the test wants it. */
export const WAITED_FOR = [
  KubeVolumeAttachments,
  PersistentVolumeClaims,
  PersistentVolumes,
  VolumeGroupClones,
  VolumeGroupRestores,
  VolumeGroupSnapshotContents,
  VolumeGroupContents,
  VolumeGroupSnapshots,
  VolumeGroups,
  VolumeSnapshotContents,
  VolumeSnapshots,
] as unknown as readonly Resource<KubeObject>[];
/** What an administrator says about how it is to be. */
export const CLASSES = [
  StorageClasses,
  VolumeAttributesClasses,
  VolumeGroupClasses,
  VolumeGroupSnapshotClasses,
  VolumeSnapshotClasses,
] as unknown as readonly Resource<KubeObject>[];
const WITH_STATUS = [...WAITED_FOR, Namespaces, Nodes, Pods] as Resource[];
const WITHOUT_STATUS = [
  ...CLASSES,
  ConfigMaps,
  CSIDrivers,
  CSINodes,
  CSIStorageCapacities,
  Leases,
  ReferenceGrants,
  Secrets,
  VolumePopulators,
] as Resource[];

const reasonOf = (event: UnstructuredObject) => ({ reason: String(event["reason"] ?? "") });

/** The kinds that sidecars touch, without schemas. */
export function testRegistry(): ResourceRegistry {
  const define = (hasStatus: boolean) => (resource: Resource) => ({ resource, hasStatus });
  return new ResourceRegistry([
    ...WITH_STATUS.map(define(true)),
    ...WITHOUT_STATUS.map(define(false)),
    { resource: Events, hasStatus: false, strategy: { selectableFields: reasonOf } },
  ]);
}
