import type {
  CSINode,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
  VolumeGroupSnapshot,
  VolumeGroupSnapshotClass,
  VolumeGroupSnapshotContent,
  VolumeSnapshot,
  VolumeSnapshotClass,
  VolumeSnapshotContent,
} from "@mooring/store";
import { defined } from "@mooring/store";
import { STORAGE_PROVISIONER } from "../common/names.ts";
import type { ControllerCapability, DriverInfo } from "../csi/driver-info.ts";

/** Objects as the API would hand them out, for tests; everything may be overridden. */

export const DRIVER = "test.csi.example.com";

type Changes<T> = { [K in keyof T]?: T[K] };
type Meta = PersistentVolumeClaim["metadata"];

export function driverInfo(can: ControllerCapability[], changes: Changes<DriverInfo> = {}): DriverInfo {
  const info: DriverInfo = {
    name: DRIVER,
    version: "1",
    controller: true,
    topology: false,
    expansion: "online",
    can: new Set(can),
    controllerElsewhere: false,
    groupSnapshots: false,
    volumeGroups: new Set(),
    nodeExpansion: false,
  };
  return { ...info, ...changes };
}

export function claim(
  name: string,
  spec: Changes<NonNullable<PersistentVolumeClaim["spec"]>> = {},
  metadata: Changes<Meta> = {},
  status?: PersistentVolumeClaim["status"],
): PersistentVolumeClaim {
  const annotations = { [STORAGE_PROVISIONER]: DRIVER };
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, namespace: "default", uid: `uid-${name}`, annotations, ...metadata },
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } },
      storageClassName: "fast",
      ...spec,
    },
    ...defined({ status }),
  };
}

export function storageClass(changes: Changes<StorageClass> = {}): StorageClass {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "fast" },
    provisioner: DRIVER,
    reclaimPolicy: "Delete",
    volumeBindingMode: "Immediate",
    ...changes,
  };
}

export function persistentVolume(
  name: string,
  spec: Changes<NonNullable<PersistentVolume["spec"]>> = {},
  metadata: Changes<Meta> = {},
  status?: PersistentVolume["status"],
): PersistentVolume {
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name, uid: `uid-${name}`, resourceVersion: "1", ...metadata },
    spec: {
      accessModes: ["ReadWriteOnce"],
      capacity: { storage: "1Gi" },
      csi: { driver: DRIVER, volumeHandle: `handle-${name}` },
      persistentVolumeReclaimPolicy: "Delete",
      ...spec,
    },
    ...defined({ status }),
  };
}

export function volumeSnapshot(
  name: string,
  spec: VolumeSnapshot["spec"] = { source: { persistentVolumeClaimName: "src" } },
  metadata: Changes<Meta> = {},
  status?: VolumeSnapshot["status"],
): VolumeSnapshot {
  return {
    apiVersion: "snapshot.storage.k8s.io/v1",
    kind: "VolumeSnapshot",
    metadata: { name, namespace: "default", uid: `uid-${name}`, ...metadata },
    spec,
    ...defined({ status }),
  };
}

export function snapshotContent(
  name: string,
  spec: Changes<VolumeSnapshotContent["spec"]> = {},
  metadata: Changes<Meta> = {},
  status?: VolumeSnapshotContent["status"],
): VolumeSnapshotContent {
  return {
    apiVersion: "snapshot.storage.k8s.io/v1",
    kind: "VolumeSnapshotContent",
    metadata: { name, uid: `uid-${name}`, ...metadata },
    spec: {
      volumeSnapshotRef: { name: "snap", namespace: "default", uid: "uid-snap" },
      deletionPolicy: "Delete",
      driver: DRIVER,
      volumeSnapshotClassName: "snaps",
      source: { volumeHandle: "handle" },
      ...spec,
    },
    ...defined({ status }),
  };
}

export function snapshotClass(changes: Changes<VolumeSnapshotClass> = {}): VolumeSnapshotClass {
  return {
    apiVersion: "snapshot.storage.k8s.io/v1",
    kind: "VolumeSnapshotClass",
    metadata: { name: "snaps" },
    driver: DRIVER,
    deletionPolicy: "Delete",
    ...changes,
  };
}

export function groupSnapshot(
  name: string,
  spec: VolumeGroupSnapshot["spec"] = { source: { selector: { matchLabels: { app: "db" } } } },
  metadata: Changes<Meta> = {},
  status?: VolumeGroupSnapshot["status"],
): VolumeGroupSnapshot {
  return {
    apiVersion: "groupsnapshot.storage.k8s.io/v1",
    kind: "VolumeGroupSnapshot",
    metadata: { name, namespace: "default", uid: `uid-${name}`, ...metadata },
    spec,
    ...defined({ status }),
  };
}

export function groupContent(
  name: string,
  spec: Changes<VolumeGroupSnapshotContent["spec"]> = {},
  metadata: Changes<Meta> = {},
  status?: VolumeGroupSnapshotContent["status"],
): VolumeGroupSnapshotContent {
  return {
    apiVersion: "groupsnapshot.storage.k8s.io/v1",
    kind: "VolumeGroupSnapshotContent",
    metadata: { name, uid: `uid-${name}`, ...metadata },
    spec: {
      volumeGroupSnapshotRef: { name: "group", namespace: "default", uid: "uid-group" },
      deletionPolicy: "Delete",
      driver: DRIVER,
      volumeGroupSnapshotClassName: "groups",
      source: { volumeHandles: ["vol-1", "vol-2"] },
      ...spec,
    },
    ...defined({ status }),
  };
}

export function groupClass(changes: Changes<VolumeGroupSnapshotClass> = {}): VolumeGroupSnapshotClass {
  return {
    apiVersion: "groupsnapshot.storage.k8s.io/v1",
    kind: "VolumeGroupSnapshotClass",
    metadata: { name: "groups" },
    driver: DRIVER,
    deletionPolicy: "Delete",
    ...changes,
  };
}

export function node(name: string, labels: Record<string, string> = {}): Node {
  return { apiVersion: "v1", kind: "Node", metadata: { name, labels } };
}

export function csiNode(name: string, topologyKeys: string[] = [], nodeID = `id-${name}`): CSINode {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "CSINode",
    metadata: { name },
    spec: { drivers: [{ name: DRIVER, nodeID, topologyKeys }] },
  };
}
