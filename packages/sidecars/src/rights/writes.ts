import {
  ConfigMaps,
  CSIDrivers,
  CSINodes,
  CSIStorageCapacities,
  Events,
  KubeVolumeAttachments,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import type { ControllerName } from "../controllers.ts";
import { VolumeGroupClones } from "../kube/group-clone.ts";
import { VolumeGroupRestores } from "../kube/group-restore.ts";
import { VolumeGroupContents, VolumeGroups } from "../kube/volume-group.ts";

/** A right to read or change objects. */
export interface Right {
  resource: Resource;
  verbs: readonly string[];
  subresource?: string;
  /** Only in the namespace of the records, or in this one. */
  inNamespace?: true | string;
}

const patch = (resource: Resource): Right => ({ resource, verbs: ["patch"] });
const status = (resource: Resource): Right => ({ resource, verbs: ["patch"], subresource: "status" });

const SNAPSHOT_CONTROLLER: readonly Right[] = [
  ...[patch(VolumeSnapshots), status(VolumeSnapshots), patch(PersistentVolumeClaims)],
  { resource: VolumeSnapshotContents, verbs: ["create", "patch", "delete"] },
];

/** Every controller reports. */
export const EVERY_CONTROLLER: readonly Right[] = [{ resource: Events, verbs: ["get", "create", "patch"] }];

/** What each controller changes, and what it reads to do so that {@link READS} does not have. */
export const WRITES: Readonly<Record<ControllerName, readonly Right[]>> = {
  provision: [
    { resource: PersistentVolumes, verbs: ["create", "patch", "delete"] },
    patch(PersistentVolumeClaims),
    { resource: ConfigMaps, verbs: ["create", "patch", "delete"], inNamespace: true },
  ],
  attach: [patch(KubeVolumeAttachments), status(KubeVolumeAttachments), patch(PersistentVolumes)],
  resize: [patch(PersistentVolumes), status(PersistentVolumeClaims)],
  modify: [patch(PersistentVolumes), status(PersistentVolumeClaims)],
  snapshot: [...SNAPSHOT_CONTROLLER, status(VolumeSnapshotContents)],
  "snapshot-controller": SNAPSHOT_CONTROLLER,
  "snapshot-content": [patch(VolumeSnapshotContents), status(VolumeSnapshotContents)],
  "group-snapshot": [
    patch(VolumeGroupSnapshots),
    status(VolumeGroupSnapshots),
    { resource: VolumeGroupSnapshotContents, verbs: ["create", "patch", "delete"] },
    status(VolumeGroupSnapshotContents),
    { resource: VolumeSnapshots, verbs: ["create", "patch", "delete"] },
    { resource: VolumeSnapshotContents, verbs: ["create", "patch", "delete"] },
  ],
  "group-restore": [
    status(VolumeGroupRestores),
    { resource: PersistentVolumeClaims, verbs: ["create", "patch"] },
    { resource: VolumeGroups, verbs: ["create"] },
    // Why a claim of it is not made.
    { resource: Events, verbs: ["list"] },
  ],
  "group-clone": [
    patch(VolumeGroupClones),
    status(VolumeGroupClones),
    { resource: VolumeGroupSnapshots, verbs: ["create", "delete"] },
    { resource: VolumeGroupRestores, verbs: ["create", "delete"] },
  ],
  "volume-group": [
    patch(VolumeGroups),
    status(VolumeGroups),
    { resource: VolumeGroupContents, verbs: ["create", "patch", "delete"] },
    status(VolumeGroupContents),
    { resource: PersistentVolumeClaims, verbs: ["patch", "delete"] },
  ],
  capacity: [{ resource: CSIStorageCapacities, verbs: ["create", "patch", "delete"], inNamespace: true }],
  health: [patch(PersistentVolumeClaims)],
  "csi-driver": [{ resource: CSIDrivers, verbs: ["create", "patch"] }],
  "node-registration": [
    patch(Nodes),
    { resource: CSINodes, verbs: ["create", "patch"] },
    { resource: CSIDrivers, verbs: ["create"] },
  ],
};
