import type { KubeObject } from "../object/meta.ts";
import { defineResource } from "../object/resource.ts";

/** The API group of single snapshots. */
export const SNAPSHOT_GROUP = "snapshot.storage.k8s.io";
type DeletionPolicy = "Delete" | "Retain";

/** How a driver's snapshots are made, and what becomes of them when their VolumeSnapshot is deleted. */
export interface VolumeSnapshotClass extends KubeObject {
  driver: string;
  deletionPolicy: DeletionPolicy;
  parameters?: Record<string, string>;
}

/** The last failure of a snapshot. `time` is RFC 3339. */
export interface SnapshotError {
  time?: string;
  message?: string;
}

/** A user's wish for a snapshot of a claim, or for one that exists. */
export interface VolumeSnapshot extends KubeObject {
  spec: {
    /** Exactly one of the two. */
    source: { persistentVolumeClaimName?: string; volumeSnapshotContentName?: string };
    volumeSnapshotClassName?: string;
  };
  status?: {
    boundVolumeSnapshotContentName?: string;
    /** RFC 3339. */
    creationTime?: string;
    readyToUse?: boolean;
    /** Quantity. */
    restoreSize?: string;
    error?: SnapshotError;
    volumeGroupSnapshotName?: string;
  };
}

/** The snapshot on the storage system that a VolumeSnapshot is bound to. */
export interface VolumeSnapshotContent extends KubeObject {
  spec: {
    volumeSnapshotRef: {
      apiVersion?: string;
      kind?: string;
      name: string;
      namespace: string;
      uid?: string;
      resourceVersion?: string;
    };
    deletionPolicy: DeletionPolicy;
    driver: string;
    volumeSnapshotClassName?: string;
    /** Exactly one of the two. */
    source: { volumeHandle?: string; snapshotHandle?: string };
    sourceVolumeMode?: "Filesystem" | "Block";
  };
  status?: {
    snapshotHandle?: string;
    /** Nanoseconds since the epoch; exceeds what a double holds exactly, so sub-microsecond digits are lost. */
    creationTime?: number;
    /** Bytes. */
    restoreSize?: number;
    readyToUse?: boolean;
    error?: SnapshotError;
    volumeGroupSnapshotHandle?: string;
  };
}

/** Served at `/apis/snapshot.storage.k8s.io/v1/volumesnapshotclasses`. */
export const VolumeSnapshotClasses = defineResource<VolumeSnapshotClass>({
  group: SNAPSHOT_GROUP,
  version: "v1",
  kind: "VolumeSnapshotClass",
  plural: "volumesnapshotclasses",
  namespaced: false,
});
/** Served at `/apis/snapshot.storage.k8s.io/v1/namespaces/NAMESPACE/volumesnapshots`. */
export const VolumeSnapshots = defineResource<VolumeSnapshot>({
  group: SNAPSHOT_GROUP,
  version: "v1",
  kind: "VolumeSnapshot",
  plural: "volumesnapshots",
  namespaced: true,
});
/** Served at `/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents`. */
export const VolumeSnapshotContents = defineResource<VolumeSnapshotContent>({
  group: SNAPSHOT_GROUP,
  version: "v1",
  kind: "VolumeSnapshotContent",
  plural: "volumesnapshotcontents",
  namespaced: false,
});
