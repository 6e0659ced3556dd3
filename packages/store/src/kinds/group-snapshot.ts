import type { KubeObject } from "../object/meta.ts";
import { defineResource } from "../object/resource.ts";

export const GROUP_SNAPSHOT_GROUP = "groupsnapshot.storage.k8s.io";

export interface VolumeGroupSnapshotClass extends KubeObject {
  driver: string;
  deletionPolicy: "Delete" | "Retain";
  parameters?: Record<string, string>;
}

export const VolumeGroupSnapshotClasses = defineResource<VolumeGroupSnapshotClass>(
  GROUP_SNAPSHOT_GROUP,
  "v1",
  "VolumeGroupSnapshotClass",
  "volumegroupsnapshotclasses",
  false,
);
