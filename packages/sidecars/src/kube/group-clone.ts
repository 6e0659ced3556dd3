import { type Condition, defineResource, type KubeObject } from "@mooring/store";
import type { VolumeGroupRestore } from "./group-restore.ts";

type RestoreSpec = VolumeGroupRestore["spec"];

/**
 * - `Waiting`: for the group that is cloned.
 * - `Snapshotting`: one group snapshot of all members is made.
 * - `Restoring`: the claims and the new group are made.
 * - `Cleaning`: all is there, and the internal snapshot goes.
 * - `Ready`: done. A finished record: what happens to the claims then is not shown in it.
 * - `Failed`: an operator is needed; it goes on when that is done.
 */
export type ClonePhase = "Waiting" | "Snapshotting" | "Restoring" | "Cleaning" | "Ready" | "Failed";

/** A wish for a new VolumeGroup with copies of all members of another one, of one moment. */
export interface VolumeGroupClone extends KubeObject {
  spec: {
    source: { volumeGroupName: string };
    /** Of the new group; default: that of this object, and the class of the source. */
    volumeGroup?: { name?: string; volumeGroupClassName?: string };
    volumeGroupSnapshotClassName?: string;
  } & Pick<RestoreSpec, "claimNameTemplate" | "defaults" | "members">;
  status?: {
    phase: ClonePhase;
    message: string;
    observedGeneration?: number;
    /** The new group. */
    volumeGroupName?: string;
    claims?: { total: number; bound: number };
    members?: { sourceClaim: string; claimName: string }[];
    /** `Ready`, `Failed`. */
    conditions?: Condition[];
  };
}

/** Served at `/apis/storage.mooring.dev/v1alpha1/namespaces/NAMESPACE/volumegroupclones`. */
export const VolumeGroupClones = defineResource<VolumeGroupClone>({
  group: "storage.mooring.dev",
  version: "v1alpha1",
  kind: "VolumeGroupClone",
  plural: "volumegroupclones",
  namespaced: true,
});

/** On a clone: its internal group snapshot and restore are, or may be, there. */
export const CLONE_FINALIZER = "storage.mooring.dev/volume-group-clone";
/** On the internal group snapshot and restore: UID of their clone. */
export const CLONE_UID = "storage.mooring.dev/volume-group-clone-uid";
