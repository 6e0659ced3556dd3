import { type Condition, defineResource, type KubeObject } from "@mooring/store";
import type { Attempts } from "./attempts.ts";
import type { VolumeSalvage } from "./faults.ts";
import type { ImageFeature } from "./image-features.ts";
import { MOORING_GROUP, MOORING_VERSION } from "./names.ts";

/** Where a volume's first bytes come from. */
export interface VolumeSource {
  kind: "Volume" | "Snapshot";
  /** Name of the Volume or Snapshot object. */
  name: string;
}

/** When a volume takes its room: as it is written, or all of it when it is made. */
export const PROVISIONING_TYPES = ["thin", "thick"] as const;
/** One of {@link PROVISIONING_TYPES}. */
export type ProvisioningType = (typeof PROVISIONING_TYPES)[number];

/** Cluster scoped. The name is the CSI volume id: `v-<pool>-<uuid>`, see `driver`. */
export interface Volume extends KubeObject {
  spec: VolumeSpec;
  status?: VolumeStatus;
}

/** What a volume is to be. The arbiter alone writes `nodeID` and `migrationNodeID`. */
export interface VolumeSpec {
  /** Wanted size in bytes; it only ever grows. */
  size: number;
  /** Name of the Pool object. */
  pool: string;
  source?: VolumeSource;
  /** `Filesystem` volumes are formatted by the node's stage step, `Block` volumes never. */
  volumeMode: "Filesystem" | "Block";
  /** `ext4`, `xfs` or `btrfs`; absent for block volumes. */
  fsType?: "ext4" | "xfs" | "btrfs";
  /** `rwo`, `rwop`, `rox`, `rwx`. */
  accessMode: string;
  /** `thick`: all its room is set aside when it is made. Default `thin`: it takes what is written. Never changes. */
  provisioningType?: ProvisioningType;
  /** Of its image in a Ceph pool; absent: those of its source, else all that an image may have. Never changes. */
  imageFeatures?: ImageFeature[];
  /** A block volume of a shared pool that a second node may have open while its workload moves there. */
  migratable?: boolean;
  /** Where the arbiter wants the volume; empty or absent: detached. Written by the arbiter alone. */
  nodeID?: string;
  /** The node that the volume is moving to while it stays on `nodeID`. Written by the arbiter alone. */
  migrationNodeID?: string;
  /** Attached for maintenance only: no workload may use the device. Written by the arbiter alone. */
  disableFrontend?: boolean;
  lastAttachedBy?: string;
  /**
   * Put the bytes of one of its snapshots in place of its own, once: everything written since is lost. Another
   * `request` (any text) requests the same snapshot again. `revert`: a VolumeGroupRevert requests it, for all members of a
   * group.
   */
  restoreFrom?: { snapshot: string; request?: string; revert?: RevertOrder };
  /** Consent of an operator to lose data in order to repair one fault: its `status.salvage.faultedAt`. */
  acceptDataLoss?: string;
  /** Parameters that may change during a volume's life (read-ahead, limits, discard). */
  mutableParameters?: Record<string, string>;
  /**
   * The VolumeSet that has the volume, or is about to: it is a member only when the set lists it. The set that writes it
   * owns the volume until another one does, so no volume is in two sets. `change`: the attempt that wrote it.
   */
  group?: { name: string; change: string };
  /** What CreateVolume was called with, so that a repeat can be compared argument by argument. */
  request?: Record<string, unknown>;
}

/** States of the attachment machine. `creating` until the image is there, `deleting` once the object is going. */
export type VolumeState = "creating" | "detached" | "attaching" | "attached" | "detaching" | "deleting";

/** What a volume is. The agent of the responsible node writes it. */
export interface VolumeStatus {
  state: VolumeState;
  robustness?: "unknown" | "healthy" | "faulted";
  /** Set only when fully attached, cleared only when fully detached. */
  currentNodeID?: string;
  /** The node that has the volume open beside it, fenced from the data; set and cleared like the current node. */
  currentMigrationNodeID?: string;
  /** The device there. It comes to life, under the same name, when the volume has moved. */
  migrationDevice?: string;
  /** The node that has the image; in a shared pool the one whose agent holds the image's lease, or last held it. */
  ownerID?: string;
  /** `/dev/loopN` while attached, or the directory of a `directory` pool volume. */
  device?: string;
  frontendDisabled?: boolean;
  /** Bytes the image has now. */
  size?: number;
  /** Set once, by the stage step, when a file system was made; never cleared. A clone inherits it. */
  formatted?: string;
  /** What was mounted before is dead, or moved away. Taken back when no workload has such a mount any more. */
  remountRequestedAt?: string;
  /** By node: the request that it has handled, by mounting the volume anew. */
  remounted?: Record<string, string>;
  /** The file system is smaller than the device, and grows only while no workload uses it. */
  expansion?: VolumeExpansion;
  /** The last fault, and what became of it. */
  salvage?: VolumeSalvage;
  /** What became of the last `spec.restoreFrom`. */
  restore?: VolumeRestore;
  /** gRPC-style code (`RESOURCE_EXHAUSTED`, ...) and message of the last failure; absent when all is well. */
  error?: { code: string; message: string };
  conditions?: Condition[];
}

/** One volume's part of a VolumeGroupRevert. */
export interface RevertOrder {
  /** `namespace/name` of the VolumeGroupRevert. */
  name: string;
  /** False: the volume is detached and kept, and nothing is changed, since not all members are yet. */
  committed: boolean;
}

/** The growth of a file system on a device that has grown already. */
export interface VolumeExpansion extends Attempts {
  /** Bytes that the file system is to have. */
  size: number;
  message?: string;
}

/** The way back of a volume to one of its snapshots. */
export interface VolumeRestore extends Attempts {
  snapshot: string;
  request?: string;
  state: "Pending" | "Restored" | "Failed";
  /** When it was restored, or given up. */
  finishedAt?: string;
  message?: string;
}

/**
 * True for a volume that workloads on many nodes use at once: one node has its device and serves its file system to
 * them. What has no file system that could be served, or moves between two nodes by itself, is none.
 */
export function isServed({ spec }: Pick<Volume, "spec">): boolean {
  const many = spec.accessMode === "rwx" || spec.accessMode === "rox";
  return many && spec.migratable !== true && spec.volumeMode === "Filesystem";
}

/** All its room is set aside. */
export function isThickVolume({ spec }: Pick<Volume, "spec">): boolean {
  return spec.provisioningType === "thick";
}

/** Served at `/apis/storage.mooring.dev/v1alpha1/volumes`. */
export const Volumes = defineResource<Volume>({
  group: MOORING_GROUP,
  version: MOORING_VERSION,
  kind: "Volume",
  plural: "volumes",
  namespaced: false,
});
