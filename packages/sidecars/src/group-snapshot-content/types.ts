import type { VolumeGroupSnapshotClass, VolumeGroupSnapshotContent } from "@mooring/store";
import type { SecretRef } from "../secrets/references.ts";
import type { StorageGroup } from "./storage-group.ts";

/** Arguments of CreateVolumeGroupSnapshot. */
export interface GroupRequest {
  name: string;
  sourceVolumeIds: string[];
  parameters: Record<string, string>;
  secret?: SecretRef;
}

/** A group that exists: its id, those of its members, and the secret that opens it. */
export interface GroupTarget {
  groupSnapshotId: string;
  snapshotIds: string[];
  secret?: SecretRef;
}

/** What VolumeGroupSnapshotContents are made of. */
export interface GroupContentTypes {
  content: VolumeGroupSnapshotContent;
  contentClass: VolumeGroupSnapshotClass;
  data: StorageGroup;
  request: GroupRequest;
  target: GroupTarget;
}
