import type {
  PersistentVolumeClaim,
  StorageClass,
  VolumeGroupSnapshot,
  VolumeGroupSnapshotContent,
  VolumeSnapshot,
  VolumeSnapshotContent,
} from "@mooring/store";
import type { VolumeGroupRestore } from "../kube/group-restore.ts";
import type { GroupTarget } from "./into-group.ts";

/** A snapshot that belongs to the group snapshot, and its content. */
export interface MemberView {
  snapshot: VolumeSnapshot;
  content: VolumeSnapshotContent | undefined;
}

/** Everything that the next step for a VolumeGroupRestore depends on. */
export interface GroupRestoreView {
  /** The driver that this process works for. */
  driver: string;
  restore: VolumeGroupRestore | undefined;
  groupSnapshot: VolumeGroupSnapshot | undefined;
  content: VolumeGroupSnapshotContent | undefined;
  members: readonly MemberView[];
  /** The source claims and the claims that have the names of restored ones. */
  claims: ReadonlyMap<string, PersistentVolumeClaim>;
  classes: readonly StorageClass[];
  /** Where the restore makes a VolumeGroup. */
  target?: GroupTarget | undefined;
  /** Claim name -> why the API server does not take it; tried again after the back-off. */
  refused: ReadonlyMap<string, string>;
  /** Claim name -> why it has no volume yet, as far as its provisioner has reported it. */
  troubles: ReadonlyMap<string, string>;
  /** Milliseconds left before a refused claim is tried again. */
  backoffMs: number;
  /** RFC 3339. */
  now: string;
}
