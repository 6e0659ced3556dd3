import type { KubeObject } from "../object/meta.ts";
import { defineResource } from "../object/resource.ts";
import type { LabelSelector } from "../select/label-selector.ts";
import type { SnapshotError } from "./snapshot.ts";

/** The API group of group snapshots; v1 is what is stored. */
export const GROUP_SNAPSHOT_GROUP = "groupsnapshot.storage.k8s.io";

/** How a driver's group snapshots are made, and what becomes of them (KEP 3476). */
export interface VolumeGroupSnapshotClass extends KubeObject {
  driver: string;
  deletionPolicy: "Delete" | "Retain";
  parameters?: Record<string, string>;
}

/** A user's wish for one snapshot of several claims at one moment (KEP 3476). */
export interface VolumeGroupSnapshot extends KubeObject {
  spec: {
    /** Exactly one of the two. */
    source: { selector?: LabelSelector; volumeGroupSnapshotContentName?: string };
    /** Absent: the default class of the volumes' driver. */
    volumeGroupSnapshotClassName?: string;
  };
  status?: {
    boundVolumeGroupSnapshotContentName?: string;
    /** RFC 3339. */
    creationTime?: string;
    readyToUse?: boolean;
    error?: SnapshotError;
  };
}

/** One member of a group snapshot, as the driver describes it. */
export interface VolumeSnapshotInfo {
  volumeHandle?: string;
  snapshotHandle?: string;
  /** Nanoseconds since the epoch; exceeds what a double holds exactly, so sub-microsecond digits are lost. */
  creationTime?: number;
  readyToUse?: boolean;
  /** Bytes. */
  restoreSize?: number;
}

/** The group on the storage system that a VolumeGroupSnapshot is bound to (KEP 3476). */
export interface VolumeGroupSnapshotContent extends KubeObject {
  spec: {
    volumeGroupSnapshotRef: {
      apiVersion?: string;
      kind?: string;
      name: string;
      namespace: string;
      uid?: string;
      resourceVersion?: string;
    };
    deletionPolicy: "Delete" | "Retain";
    driver: string;
    volumeGroupSnapshotClassName?: string;
    /** Exactly one of the two. */
    source: {
      volumeHandles?: string[];
      groupSnapshotHandles?: { volumeGroupSnapshotHandle: string; volumeSnapshotHandles: string[] };
    };
  };
  status?: {
    volumeGroupSnapshotHandle?: string;
    /** RFC 3339. */
    creationTime?: string;
    readyToUse?: boolean;
    error?: SnapshotError;
    volumeSnapshotInfoList?: VolumeSnapshotInfo[];
    /** The members as v1beta1 has them: the same as in `volumeSnapshotInfoList`. */
    volumeSnapshotHandlePairList?: { volumeHandle: string; snapshotHandle: string }[];
  };
}

/** Served at `/apis/groupsnapshot.storage.k8s.io/v1/volumegroupsnapshotclasses`. */
export const VolumeGroupSnapshotClasses = defineResource<VolumeGroupSnapshotClass>({
  group: GROUP_SNAPSHOT_GROUP,
  version: "v1",
  kind: "VolumeGroupSnapshotClass",
  plural: "volumegroupsnapshotclasses",
  namespaced: false,
});
/** Served at `/apis/groupsnapshot.storage.k8s.io/v1/namespaces/NAMESPACE/volumegroupsnapshots`. */
export const VolumeGroupSnapshots = defineResource<VolumeGroupSnapshot>({
  group: GROUP_SNAPSHOT_GROUP,
  version: "v1",
  kind: "VolumeGroupSnapshot",
  plural: "volumegroupsnapshots",
  namespaced: true,
});
/** Served at `/apis/groupsnapshot.storage.k8s.io/v1/volumegroupsnapshotcontents`. */
export const VolumeGroupSnapshotContents = defineResource<VolumeGroupSnapshotContent>({
  group: GROUP_SNAPSHOT_GROUP,
  version: "v1",
  kind: "VolumeGroupSnapshotContent",
  plural: "volumegroupsnapshotcontents",
  namespaced: false,
});
