import {
  GroupSnapshots,
  LEASE_NAMESPACE,
  NodeAgents,
  Pools,
  RecurringJobs,
  ShareManagers,
  Snapshots,
  VolumeAttachments,
  VolumeGroupReverts,
  VolumeSets,
  Volumes,
} from "@mooring/engine";
import {
  EVERY_CONTROLLER,
  ReferenceGrants,
  type Right,
  VolumeGroupClasses,
  VolumeGroupClones,
  VolumeGroupContents,
  VolumeGroupRestores,
  VolumeGroups,
  VolumePopulators,
  WRITES,
} from "@mooring/sidecars";
import {
  ConfigMaps,
  CSIDrivers,
  CSINodes,
  CSIStorageCapacities,
  KubeVolumeAttachments,
  Leases,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  Pods,
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

const READ = ["get", "list", "watch"];
const right = (resource: Resource, ...verbs: string[]): Right => ({ resource, verbs: [...READ, ...verbs] });
const status = (resource: Resource): Right => ({ resource, subresource: "status", verbs: ["update"] });

/** What the engine's part of the controller does, beside the sidecars: deploy/manifests/rbac.yaml gives it. */
export const CONTROLLER_RIGHTS: readonly Right[] = [
  ...[Volumes, VolumeAttachments, GroupSnapshots].flatMap((resource) => [
    right(resource, "create", "update", "delete"),
    status(resource),
  ]),
  // Their status is the nodes' to write.
  right(Snapshots, "create", "delete"),
  right(ShareManagers, "create", "update", "delete"),
  { resource: VolumeSets, verbs: ["get", "list", "create", "update", "delete"] },
  right(RecurringJobs),
  status(RecurringJobs),
  right(VolumeGroupReverts, "update"),
  status(VolumeGroupReverts),
  right(Pools),
  right(NodeAgents),
  status(NodeAgents),
  { resource: Nodes, verbs: ["list", "watch"] },
  right(KubeVolumeAttachments),
  { resource: Leases, verbs: ["list", "watch"], inNamespace: LEASE_NAMESPACE },
];

const followed = (resource: Resource): Right => ({ resource, verbs: ["list", "watch"] });

/**
 * What the sidecar controllers read, and the lease of the one that leads. A controller says itself at its start what it may not
 * list or watch, so only others ask for these: who checks the roles before anything runs.
 */
const SIDECAR_READS: readonly Right[] = [
  ...[
    ...[PersistentVolumes, PersistentVolumeClaims, VolumeAttributesClasses],
    ...[VolumeSnapshots, VolumeSnapshotContents, VolumeGroupSnapshots, VolumeGroupSnapshotContents],
    ...[VolumeGroupClasses, VolumeGroupRestores, VolumeGroupClones, VolumeGroups, VolumeGroupContents],
  ].map((resource) => right(resource)),
  ...[StorageClasses, CSINodes, VolumeSnapshotClasses, VolumeGroupSnapshotClasses].map(followed),
  ...[ReferenceGrants, VolumePopulators].map(followed),
  { resource: CSIDrivers, verbs: ["get"] },
  { resource: Pods, verbs: ["list"] },
  { ...right(ConfigMaps), inNamespace: true },
  { ...followed(CSIStorageCapacities), inNamespace: true },
  { resource: Leases, verbs: ["get", "create", "update"], inNamespace: true },
  ...EVERY_CONTROLLER,
];

/** What a node's agent and CSI node service do. */
export const NODE_RIGHTS: readonly Right[] = [
  ...[Volumes, Snapshots, GroupSnapshots, ShareManagers].flatMap((resource) => [
    right(resource, ...(resource === ShareManagers || resource === GroupSnapshots ? [] : ["update"])),
    status(resource),
  ]),
  right(Pools, "create", "update"),
  status(Pools),
  right(NodeAgents, "create"),
  status(NodeAgents),
  right(VolumeAttachments),
  { resource: Leases, verbs: [...READ, "create", "update", "delete"], inNamespace: LEASE_NAMESPACE },
  ...EVERY_CONTROLLER,
];

/** Controllers that a cluster's processes do not run. */
const MADE_BY_OTHERS: ReadonlySet<string> = new Set(["node-registration", "csi-driver"]);

/**
 * What the accounts of a cluster's processes need, by account and by the controller that needs it. The node's kubelet
 * registers the driver, so no controller does, and its CSIDriver object comes with the manifests.
 */
export const ACCOUNT_RIGHTS: Readonly<Record<string, ReadonlyMap<string, readonly Right[]>>> = {
  "mooring-controller": new Map<string, readonly Right[]>([
    ["engine", CONTROLLER_RIGHTS],
    ["sidecars", SIDECAR_READS],
    ...Object.entries(WRITES).filter(([name]) => !MADE_BY_OTHERS.has(name)),
  ]),
  "mooring-node": new Map([["node", NODE_RIGHTS]]),
};
