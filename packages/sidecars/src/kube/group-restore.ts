import { type Condition, defineResource, type KubeObject } from "@mooring/store";

/** What a restored claim may be given instead of what the source claim has. */
export interface ClaimOverrides {
  storageClassName?: string;
  accessModes?: string[];
  /** Quantity; never less than the snapshot's restore size. */
  size?: string;
  /** Where the snapshot does not say its own, as one that was brought in by its handle; else only as its content allows. */
  volumeMode?: "Filesystem" | "Block";
  /** Added to the claim. */
  labels?: Record<string, string>;
}

/** What one member's claim gets instead of what all of them get. */
export interface MemberOverrides extends ClaimOverrides {
  /** The source claim, or the VolumeSnapshot of a member that names no claim. */
  claim: string;
  /** Name of the restored claim, instead of the template's. */
  name?: string;
}

/**
 * - `Pending`: the claim will be made.
 * - `Provisioning`: the claim is there and waits for its volume.
 * - `WaitForFirstConsumer`: the claim is there; its class makes the volume when a Pod uses it.
 * - `Bound`: the volume is there.
 * - `Failed`: the message has the reason.
 * - `Deleted`: a user deleted the claim after all claims were made and before all were bound. A restore that is Ready is
 *   a finished record, and does not follow its claims any more.
 */
export type MemberPhase =
  | "Pending"
  | "Provisioning"
  | "WaitForFirstConsumer"
  | "Bound"
  | "Failed"
  | "Deleted";

/** One claim of the restore: all that is needed to make it, decided once, and how far it is. */
export interface MemberStatus {
  /** The claim that the snapshot was taken of, or the snapshot's own name where that is not known. */
  sourceClaim: string;
  snapshotName: string;
  snapshotUID: string;
  claimName: string;
  storageClassName: string;
  /** Quantity. */
  size: string;
  accessModes: string[];
  volumeMode: "Filesystem" | "Block";
  phase: MemberPhase;
  message: string;
}

/** How far a restore is; `Complete` has all claims, `Ready` has them bound. */
export type RestorePhase = "Waiting" | "Restoring" | "Complete" | "Ready" | "Failed";

/** A wish for all claims of a group snapshot at once. The claims it has made outlive it. */
export interface VolumeGroupRestore extends KubeObject {
  spec: {
    source: { volumeGroupSnapshotName: string };
    /** Default `{{claim}}-{{restore}}`. */
    claimNameTemplate?: string;
    /** For every claim; an entry of `members` goes before it. */
    defaults?: ClaimOverrides;
    members?: MemberOverrides[];
    /** A new VolumeGroup of all restored claims. */
    volumeGroup?: {
      name: string;
      /** Default: the default class. */
      volumeGroupClassName?: string;
    };
  };
  status?: {
    phase: RestorePhase;
    message: string;
    observedGeneration?: number;
    /** The group snapshot that the members were read from, once they are. */
    source?: { uid: string; driver: string };
    claims?: { total: number; created: number; bound: number };
    members?: MemberStatus[];
    /** The VolumeGroup that was made, and how many of the claims are in it. */
    volumeGroup?: { name: string; joined: number };
    /** `Complete`, `Ready`, `Failed`. */
    conditions?: Condition[];
  };
}

/** Served at `/apis/storage.mooring.dev/v1alpha1/namespaces/NAMESPACE/volumegrouprestores`. */
export const VolumeGroupRestores = defineResource<VolumeGroupRestore>({
  group: "storage.mooring.dev",
  version: "v1alpha1",
  kind: "VolumeGroupRestore",
  plural: "volumegrouprestores",
  namespaced: true,
});

/** On a restored claim: which restore made it. The label is for users, the annotation distinguishes ours from others'. */
export const RESTORE_LABEL = "storage.mooring.dev/group-restore";
/** Label of a claim: the UID of the restore that made it. */
export const RESTORE_UID = "storage.mooring.dev/group-restore-uid";
