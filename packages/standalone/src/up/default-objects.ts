import { DRIVER_NAME } from "@mooring/engine";
import {
  isAlreadyExists,
  type KubeObject,
  type ObjectStore,
  type Resource,
  type StorageClass,
  StorageClasses,
  type VolumeGroupSnapshotClass,
  VolumeGroupSnapshotClasses,
  type VolumeSnapshotClass,
  VolumeSnapshotClasses,
} from "@mooring/store";

const CLASS_NAME = "mooring";

const storageClass: StorageClass = {
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: { name: CLASS_NAME, annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
  provisioner: DRIVER_NAME,
  reclaimPolicy: "Delete",
  volumeBindingMode: "Immediate",
  allowVolumeExpansion: true,
};

const snapshotClass: VolumeSnapshotClass = {
  apiVersion: "snapshot.storage.k8s.io/v1",
  kind: "VolumeSnapshotClass",
  metadata: { name: CLASS_NAME, annotations: { "snapshot.storage.kubernetes.io/is-default-class": "true" } },
  driver: DRIVER_NAME,
  deletionPolicy: "Delete",
};

const groupSnapshotClass: VolumeGroupSnapshotClass = {
  apiVersion: "groupsnapshot.storage.k8s.io/v1",
  kind: "VolumeGroupSnapshotClass",
  metadata: {
    name: CLASS_NAME,
    annotations: { "groupsnapshot.storage.kubernetes.io/is-default-class": "true" },
  },
  driver: DRIVER_NAME,
  deletionPolicy: "Delete",
};

/** Creates the object unless it is there: what an operator has changed or deleted since stays so until the next start. */
async function ensure<T extends KubeObject>(
  store: ObjectStore,
  resource: Resource<T>,
  object: T,
): Promise<void> {
  try {
    await store.create(resource, object, { fieldManager: "mooring" });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

/** The classes that users name. */
export async function ensureClasses(store: ObjectStore): Promise<void> {
  await ensure(store, StorageClasses, storageClass);
  await ensure(store, VolumeSnapshotClasses, snapshotClass);
  await ensure(store, VolumeGroupSnapshotClasses, groupSnapshotClass);
}
