import type { VolumeSnapshotClass, VolumeSnapshotContent } from "@mooring/store";
import type { SecretRef } from "../secrets/references.ts";

/** A snapshot as the driver describes it. */
export interface StorageSnapshot {
  handle: string;
  ready: boolean;
  /** Nanoseconds since the epoch. */
  creationTime: number;
  /** Bytes; 0: not known. */
  sizeBytes: number;
}

/** Arguments of CreateSnapshot. */
export interface SnapshotRequest {
  name: string;
  sourceVolumeId: string;
  parameters: Record<string, string>;
  secret?: SecretRef;
}

/** What VolumeSnapshotContents are made of. */
export interface SnapshotContentTypes {
  content: VolumeSnapshotContent;
  contentClass: VolumeSnapshotClass;
  data: StorageSnapshot;
  request: SnapshotRequest;
  target: { handle: string; secret?: SecretRef };
}
