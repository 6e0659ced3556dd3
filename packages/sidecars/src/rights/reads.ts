import {
  ConfigMaps,
  CSIDrivers,
  CSINodes,
  CSIStorageCapacities,
  KubeVolumeAttachments,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  StorageClasses,
  VolumeAttributesClasses,
  VolumeGroupSnapshotClasses,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  VolumeSnapshotClasses,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import type { ControllerName } from "../controllers.ts";
import { ReferenceGrants, VolumePopulators } from "../kube/data-sources.ts";
import { VolumeGroupClones } from "../kube/group-clone.ts";
import { VolumeGroupRestores } from "../kube/group-restore.ts";
import { VolumeGroupClasses, VolumeGroupContents, VolumeGroups } from "../kube/volume-group.ts";
import type { Right } from "./writes.ts";

/** Kinds of which single objects are also read from the server itself, where the picture that follows it may be outdated. */
const ASKED_FOR: ReadonlySet<Resource> = new Set([
  ...[PersistentVolumeClaims, PersistentVolumes, KubeVolumeAttachments, VolumeAttributesClasses, ConfigMaps],
  ...[VolumeSnapshots, VolumeSnapshotContents, VolumeGroupSnapshots, VolumeGroupSnapshotContents],
  ...[VolumeGroups, VolumeGroupContents, VolumeGroupClasses, VolumeGroupRestores, VolumeGroupClones],
] as Resource[]);

/** Kinds whose objects are in the namespace of the records. */
const OF_RECORDS: ReadonlySet<Resource> = new Set([ConfigMaps, CSIStorageCapacities] as Resource[]);

const follow = (...kinds: Resource[]): Right[] =>
  kinds.map((resource) => ({
    resource,
    verbs: ASKED_FOR.has(resource) ? ["get", "list", "watch"] : ["list", "watch"],
    ...(OF_RECORDS.has(resource) && { inNamespace: true }),
  }));
const get = (...kinds: Resource[]): Right[] => kinds.map((resource) => ({ resource, verbs: ["get"] }));
/** Where the kind cannot be listed, the controller waits for it. */
const list = (resource: Resource): Right => ({ resource, verbs: ["list"] });

const SNAPSHOT_CONTROLLER = follow(
  ...[VolumeSnapshots, VolumeSnapshotContents, VolumeSnapshotClasses],
  ...[PersistentVolumeClaims, PersistentVolumes],
);

/** What each controller reads, whatever the driver can. Secrets are missing: classes name them, in any namespace. */
export const READS: Readonly<Record<ControllerName, readonly Right[]>> = {
  provision: follow(
    ...[PersistentVolumeClaims, PersistentVolumes, StorageClasses, VolumeAttributesClasses, ConfigMaps],
    ...[Nodes, CSINodes, KubeVolumeAttachments, ReferenceGrants, VolumePopulators],
    ...[VolumeSnapshots, VolumeSnapshotContents, VolumeGroupSnapshotContents],
  ),
  attach: follow(KubeVolumeAttachments, PersistentVolumes, Nodes, CSINodes),
  resize: follow(PersistentVolumeClaims, PersistentVolumes, KubeVolumeAttachments),
  modify: follow(PersistentVolumeClaims, PersistentVolumes, VolumeAttributesClasses),
  snapshot: SNAPSHOT_CONTROLLER,
  "snapshot-controller": SNAPSHOT_CONTROLLER,
  "snapshot-content": [...follow(VolumeSnapshotContents, VolumeSnapshotClasses), list(VolumeSnapshots)],
  "group-snapshot": follow(
    ...[VolumeGroupSnapshots, VolumeGroupSnapshotContents, VolumeGroupSnapshotClasses, VolumeGroups],
    ...[VolumeSnapshots, VolumeSnapshotContents, PersistentVolumeClaims, PersistentVolumes],
  ),
  "group-restore": follow(
    ...[VolumeGroupRestores, VolumeGroups, VolumeGroupClasses, StorageClasses, PersistentVolumeClaims],
    ...[VolumeGroupSnapshots, VolumeGroupSnapshotContents, VolumeSnapshots, VolumeSnapshotContents],
  ),
  "group-clone": [
    ...follow(VolumeGroupClones, VolumeGroupRestores, VolumeGroups, VolumeGroupSnapshots),
    list(VolumeSnapshots),
  ],
  "volume-group": follow(
    ...[VolumeGroups, VolumeGroupContents, VolumeGroupClasses, VolumeGroupSnapshots],
    ...[VolumeGroupSnapshotContents, PersistentVolumeClaims, PersistentVolumes, StorageClasses],
  ),
  capacity: follow(CSIStorageCapacities, StorageClasses, Nodes, CSINodes, PersistentVolumes),
  // Events of the CSIDriver say whether the driver serves.
  health: [...follow(PersistentVolumeClaims, PersistentVolumes), ...get(CSIDrivers)],
  "csi-driver": [...follow(CSIDrivers), ...get(CSIDrivers)],
  "node-registration": [...follow(CSIDrivers, CSINodes, Nodes), ...get(CSIDrivers, CSINodes, Nodes)],
};
