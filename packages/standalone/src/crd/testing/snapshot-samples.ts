import type {
  KubeObject,
  VolumeGroupSnapshot,
  VolumeGroupSnapshotClass,
  VolumeGroupSnapshotContent,
  VolumeSnapshot,
  VolumeSnapshotClass,
  VolumeSnapshotContent,
} from "@mooring/store";
import { type Full, metadata, time } from "./full.ts";

const theirs = { apiVersion: "snapshot.storage.k8s.io/v1", metadata };

const snapshotClass: Full<VolumeSnapshotClass> = {
  ...theirs,
  kind: "VolumeSnapshotClass",
  driver: "d",
  deletionPolicy: "Delete",
  parameters: { a: "b" },
};

export const volumeSnapshot: Full<Omit<VolumeSnapshot, "spec">> & Pick<VolumeSnapshot, "spec"> = {
  ...theirs,
  kind: "VolumeSnapshot",
  spec: { source: { persistentVolumeClaimName: "c" }, volumeSnapshotClassName: "c" },
  status: {
    boundVolumeSnapshotContentName: "c",
    creationTime: time,
    readyToUse: true,
    restoreSize: "1Gi",
    error: { time, message: "m" },
    volumeGroupSnapshotName: "g",
  },
};

/** The object that a content is bound to. */
const reference = { apiVersion: "v1", kind: "K", name: "s", namespace: "a", uid: "u", resourceVersion: "1" };

const content: Full<Omit<VolumeSnapshotContent, "spec">> & Pick<VolumeSnapshotContent, "spec"> = {
  ...theirs,
  kind: "VolumeSnapshotContent",
  spec: {
    volumeSnapshotRef: reference,
    deletionPolicy: "Retain",
    driver: "d",
    volumeSnapshotClassName: "c",
    source: { snapshotHandle: "h" },
    sourceVolumeMode: "Block",
  },
  status: {
    snapshotHandle: "h",
    creationTime: 1,
    restoreSize: 1,
    readyToUse: true,
    error: { time, message: "m" },
    volumeGroupSnapshotHandle: "g",
  },
};

const groups = { apiVersion: "groupsnapshot.storage.k8s.io/v1", metadata };

const groupClass: Full<VolumeGroupSnapshotClass> = {
  ...groups,
  kind: "VolumeGroupSnapshotClass",
  driver: "d",
  deletionPolicy: "Retain",
  parameters: { a: "b" },
};

const groupSnapshot: Full<Omit<VolumeGroupSnapshot, "spec">> & Pick<VolumeGroupSnapshot, "spec"> = {
  ...groups,
  kind: "VolumeGroupSnapshot",
  spec: {
    source: {
      selector: {
        matchLabels: { a: "b" },
        matchExpressions: [{ key: "k", operator: "In", values: ["v"] }],
      },
    },
    volumeGroupSnapshotClassName: "c",
  },
  status: {
    boundVolumeGroupSnapshotContentName: "c",
    creationTime: time,
    readyToUse: true,
    error: { time, message: "m" },
  },
};

const groupContent: Full<Omit<VolumeGroupSnapshotContent, "spec">> &
  Pick<VolumeGroupSnapshotContent, "spec"> = {
  ...groups,
  kind: "VolumeGroupSnapshotContent",
  spec: {
    volumeGroupSnapshotRef: reference,
    deletionPolicy: "Retain",
    driver: "d",
    volumeGroupSnapshotClassName: "c",
    source: { groupSnapshotHandles: { volumeGroupSnapshotHandle: "g", volumeSnapshotHandles: ["h"] } },
  },
  status: {
    volumeGroupSnapshotHandle: "g",
    creationTime: time,
    readyToUse: true,
    error: { time, message: "m" },
    volumeSnapshotInfoList: [
      { volumeHandle: "v", snapshotHandle: "h", creationTime: 1, readyToUse: true, restoreSize: 1 },
    ],
    volumeSnapshotHandlePairList: [{ volumeHandle: "v", snapshotHandle: "h" }],
  },
};

/** One of each kind of the two snapshot groups, with every field. */
export const SNAPSHOT_SAMPLES: readonly KubeObject[] = [
  snapshotClass,
  volumeSnapshot,
  content,
  groupClass,
  groupSnapshot,
  groupContent,
];
