/**
 * Strings that other programs read or write: kube-controller-manager, scheduler, kubelet, backup tools and the
 * sidecars of the Kubernetes project. None may change.
 */

/** Set by the PV controller on claims that need a volume from us; the beta form is set next to it. */
export const STORAGE_PROVISIONER = "volume.kubernetes.io/storage-provisioner";
/** On a claim: the driver that is to provision it, under the name that clusters before 1.23 use. */
export const STORAGE_PROVISIONER_BETA = "volume.beta.kubernetes.io/storage-provisioner";
/** Set by the scheduler on claims of classes with WaitForFirstConsumer; removing it asks for another node. */
export const SELECTED_NODE = "volume.kubernetes.io/selected-node";
/** On a volume or claim of an in-tree plugin: the CSI driver that takes care of it instead. */
export const MIGRATED_TO = "pv.kubernetes.io/migrated-to";

/** On a volume: the driver that made it, and that therefore deletes it. */
export const PROVISIONED_BY = "pv.kubernetes.io/provisioned-by";
/** On a volume: the secret for DeleteVolume, kept because the class may be gone by then. */
export const DELETION_SECRET_NAME = "volume.kubernetes.io/provisioner-deletion-secret-name";
/** The namespace of {@link DELETION_SECRET_NAME}. */
export const DELETION_SECRET_NAMESPACE = "volume.kubernetes.io/provisioner-deletion-secret-namespace";
/** On a volume: the secret for ControllerModifyVolume. */
export const MODIFY_SECRET_NAME = "volume.kubernetes.io/controller-modify-secret-name";
/** The namespace of {@link MODIFY_SECRET_NAME}. */
export const MODIFY_SECRET_NAMESPACE = "volume.kubernetes.io/controller-modify-secret-namespace";
/** Volume attribute; kubelet and some drivers print it. */
export const PROVISIONER_IDENTITY = "storage.kubernetes.io/csiProvisionerIdentity";

/** On a volume: it stays until the driver has deleted its data. */
export const PV_FINALIZER = "external-provisioner.volume.kubernetes.io/finalizer";
/** On a claim: it stays while a volume is cloned from it. */
export const CLONE_SOURCE_FINALIZER = "provisioner.storage.kubernetes.io/cloning-protection";
/** On a snapshot: it stays while a volume is restored from it. */
export const SNAPSHOT_SOURCE_FINALIZER =
  "provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection";

const ATTACHER_FINALIZER_PREFIX = "external-attacher/";
/**
 * On a VolumeAttachment: the node id that it was published for; a node that is gone cannot say it any more.
 */
export const ATTACHED_NODE_ID = "csi.alpha.kubernetes.io/node-id";
/** On the Node: a JSON object of driver name to node id. */
export const NODE_IDS = "csi.volume.kubernetes.io/nodeid";

/** On a claim: the driver that is to expand it. */
export const STORAGE_RESIZER = "volume.kubernetes.io/storage-resizer";
/** On a claim: no node has a part in the expansion that has ended. */
export const NODE_EXPANSION_NOT_REQUIRED = "volume.kubernetes.io/node-expansion-not-required";
/** On a volume: its size before an expansion that a node has still to finish. */
export const PRE_RESIZE_CAPACITY = "volume.alpha.kubernetes.io/pre-resize-capacity";

const SNAPSHOT = "snapshot.storage.kubernetes.io";
/** On a VolumeSnapshotClass: snapshots of its driver that name no class get this one. */
export const DEFAULT_SNAPSHOT_CLASS = `${SNAPSHOT}/is-default-class`;
/** On a content: it stays until its data are deleted, or are to be kept. */
export const CONTENT_FINALIZER = `${SNAPSHOT}/volumesnapshotcontent-bound-protection`;
/** On a snapshot: it stays while something is restored from it. */
export const SNAPSHOT_FINALIZER = `${SNAPSHOT}/volumesnapshot-as-source-protection`;
/** On a snapshot: it stays while it is bound to a content. */
export const SNAPSHOT_BOUND_FINALIZER = `${SNAPSHOT}/volumesnapshot-bound-protection`;
/** On a member of a group snapshot: it goes with the group, not alone. */
export const SNAPSHOT_IN_GROUP_FINALIZER = `${SNAPSHOT}/volumesnapshot-in-group-protection`;
/** On a claim: it stays while a snapshot of it is taken. */
export const CLAIM_SOURCE_FINALIZER = `${SNAPSHOT}/pvc-as-source-protection`;
/** On a content: a CreateSnapshot call may have had an effect. Written before the call. */
export const BEING_CREATED = `${SNAPSHOT}/volumesnapshot-being-created`;
/** On a content: its VolumeSnapshot is being deleted, so the snapshot may be deleted too. */
export const BEING_DELETED = `${SNAPSHOT}/volumesnapshot-being-deleted`;
/** On a content: the secret for CreateSnapshot and DeleteSnapshot. */
export const SNAPSHOT_SECRET_NAME = `${SNAPSHOT}/deletion-secret-name`;
/** The namespace of {@link SNAPSHOT_SECRET_NAME}. */
export const SNAPSHOT_SECRET_NAMESPACE = `${SNAPSHOT}/deletion-secret-namespace`;
/** On a content: an administrator allows to restore it with the other volume mode (KEP 3141). */
export const ALLOW_MODE_CHANGE = `${SNAPSHOT}/allow-volume-mode-change`;

const GROUP_SNAPSHOT = "groupsnapshot.storage.kubernetes.io";
/** On a VolumeGroupSnapshotClass: group snapshots of its driver that name no class get this one. */
export const DEFAULT_GROUP_CLASS = `${GROUP_SNAPSHOT}/is-default-class`;
/** On a group snapshot: it stays while it is bound to a content. */
export const GROUP_FINALIZER = `${GROUP_SNAPSHOT}/volumegroupsnapshot-bound-protection`;
/** On a group's content: it stays until its data are deleted, or are to be kept. */
export const GROUP_CONTENT_FINALIZER = `${GROUP_SNAPSHOT}/volumegroupsnapshotcontent-bound-protection`;
/** On a group's content: a CreateVolumeGroupSnapshot call may have had an effect. Written before the call. */
export const GROUP_BEING_CREATED = `${GROUP_SNAPSHOT}/volumegroupsnapshot-being-created`;
/** On a group's content: its VolumeGroupSnapshot is being deleted, so the snapshots may be deleted too. */
export const GROUP_BEING_DELETED = `${GROUP_SNAPSHOT}/volumegroupsnapshot-being-deleted`;
/** On a group's content: the secret for creating and deleting the group. */
export const GROUP_SECRET_NAME = `${GROUP_SNAPSHOT}/deletion-secret-name`;
/** The namespace of {@link GROUP_SECRET_NAME}. */
export const GROUP_SECRET_NAMESPACE = `${GROUP_SNAPSHOT}/deletion-secret-namespace`;
/** On a VolumeSnapshotContent: the group snapshot that it is a member of. A handle may be too long for a label. */
export const MEMBER_OF_HANDLE = "groupsnapshot.storage.k8s.io/volumeGroupSnapshotHandle";
/** On a VolumeSnapshot: the name of its group, for users who select by label. */
export const MEMBER_OF_LABEL = "volumeGroupSnapshotName";

/** On a CSIStorageCapacity: whose capacity it is, so that each driver watches its own only. */
export const CAPACITY_DRIVER_LABEL = "csi.storage.k8s.io/drivername";
/** On a CSIStorageCapacity: the kind of program that keeps it, as external-provisioner writes it. */
export const CAPACITY_MANAGER_LABEL = "csi.storage.k8s.io/managed-by";
/** The value of {@link CAPACITY_MANAGER_LABEL}; with a node's name behind it where each node keeps its own. */
export const CAPACITY_MANAGER = "external-provisioner";
/** On a VolumeSnapshotContent: the node whose driver makes and deletes the snapshot. */
export const SNAPSHOT_MANAGED_BY = "snapshot.storage.kubernetes.io/managed-by";

/** Reserved prefix of class parameters that are for us and not for the driver. */
export const RESERVED_PARAMETERS = "csi.storage.k8s.io/";

/** On a record of an unfinished CreateVolume call (a ConfigMap): the driver it is for. */
export const RECORD_DRIVER = "storage.mooring.dev/driver";
/** Label of the ConfigMaps in which intents are recorded. */
export const RECORD_KIND = "storage.mooring.dev/record";
/** On a VolumeSnapshotContent: class parameters as they were when the snapshot was asked for, as JSON. */
export const FROZEN_PARAMETERS = "storage.mooring.dev/snapshot-parameters";
/** On a group's content: class parameters as they were when the group snapshot was asked for, as JSON. */
export const FROZEN_GROUP_PARAMETERS = "storage.mooring.dev/group-snapshot-parameters";
/** On a group's content: the secret for GetVolumeGroupSnapshot, as JSON `{name, namespace}`. */
export const FROZEN_GROUP_GET_SECRET = "storage.mooring.dev/group-snapshot-get-secret";
/** On a group's content: volume handle to claim, as JSON, as it was when the members were chosen. */
export const GROUP_SOURCES = "storage.mooring.dev/group-snapshot-sources";
/** On a VolumeSnapshotContent: UID of the VolumeGroupSnapshot that it is a member of. */
export const MEMBER_OF_UID = "storage.mooring.dev/group-snapshot-uid";
/** On a VolumeAttachment: what detaching needs when the PersistentVolume is gone, as JSON. */
export const PUBLISHED_VOLUME = "storage.mooring.dev/published-volume";
/** On a claim: the driver reports that its volume is in a bad state; the value is the driver's message. */
export const VOLUME_CONDITION = "storage.mooring.dev/volume-condition";

/** `external-attacher/<driver>` with every character that a finalizer may not have replaced by `-`. */
export function attacherFinalizer(driver: string): string {
  return ATTACHER_FINALIZER_PREFIX + sanitizeDriverName(driver);
}

/** Letters, digits and `-` stay; a name that would end in `-` ends in `-X`. */
export function sanitizeDriverName(driver: string): string {
  const clean = driver.replace(/[^a-zA-Z0-9-]/g, "-");
  return clean.endsWith("-") ? `${clean}X` : clean;
}
