import { type Condition, defineResource, type KubeObject } from "@mooring/store";
import { MOORING_GROUP, MOORING_VERSION } from "./names.ts";

/** One volume, and what it goes back to: decided once, before any volume is requested. */
export interface RevertMember {
  /** Name of the claim. */
  claim: string;
  /** Name of the Volume. */
  volume: string;
  /** Name of the Snapshot of it. */
  snapshot: string;
}

/**
 * - `Waiting`: for the group snapshot, or for another revert of the same volumes. No volume is requested.
 * - `Holding`: workloads are to leave; one that comes next waits. Nothing has changed.
 * - `Reverting`: decided. No workload reads an old byte from here on; it goes on until every member is back.
 * - `Complete`: every member has the bytes of the group snapshot.
 * - `Failed`: every member is as it was; the message has the reason.
 */
export type RevertPhase = "Waiting" | "Holding" | "Reverting" | "Complete" | "Failed";

/** An operator's request to put all members of a group snapshot back in place: all of them, or none. Done once. */
export interface VolumeGroupRevert extends KubeObject {
  /** Immutable. */
  spec: { source: { volumeGroupSnapshotName: string } };
  status?: {
    phase: RevertPhase;
    message: string;
    observedGeneration?: number;
    /** UID of the group snapshot that the members were read from. */
    sourceUID?: string;
    members?: RevertMember[];
    /** `held`: that no workload can reach, or that are back already. */
    volumes?: { total: number; held: number; reverted: number };
    /** When it was decided, RFC 3339. */
    committedAt?: string;
    finishedAt?: string;
    /** `Held`, `Committed`, `Complete`, `Failed`. */
    conditions?: Condition[];
  };
}

/** The status of a VolumeGroupRevert. */
export type RevertStatus = NonNullable<VolumeGroupRevert["status"]>;

/** Served at `/apis/storage.mooring.dev/v1alpha1/namespaces/NAMESPACE/volumegroupreverts`. */
export const VolumeGroupReverts = defineResource<VolumeGroupRevert>({
  group: MOORING_GROUP,
  version: MOORING_VERSION,
  kind: "VolumeGroupRevert",
  plural: "volumegroupreverts",
  namespaced: true,
});
