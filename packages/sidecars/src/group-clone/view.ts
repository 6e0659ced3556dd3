import type { VolumeGroupSnapshot } from "@mooring/store";
import type { VolumeGroupClone } from "../kube/group-clone.ts";
import type { VolumeGroupRestore } from "../kube/group-restore.ts";
import type { VolumeGroup } from "../kube/volume-group.ts";

/** What a decision about one VolumeGroupClone needs. */
export interface GroupCloneView {
  driver: string;
  clone: VolumeGroupClone | undefined;
  /** The group that is cloned. */
  source: VolumeGroup | undefined;
  /** The internal ones. */
  snapshot: VolumeGroupSnapshot | undefined;
  restore: VolumeGroupRestore | undefined;
  /** RFC 3339. */
  now: string;
}

/** The status of a VolumeGroupClone. */
export type CloneStatus = NonNullable<VolumeGroupClone["status"]>;

/** One visible change for a VolumeGroupClone. */
export type GroupCloneStep =
  | { do: "add-finalizer" }
  | { do: "create-snapshot"; snapshot: VolumeGroupSnapshot }
  | { do: "create-restore"; restore: VolumeGroupRestore }
  | { do: "write-status"; status: CloneStatus; isNews: boolean }
  | { do: "delete-restore"; restore: VolumeGroupRestore }
  | { do: "delete-snapshot"; snapshot: VolumeGroupSnapshot }
  | { do: "release" };
