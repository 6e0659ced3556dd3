import { type Condition, defineResource, type KubeObject } from "@mooring/store";
import type { Attempts } from "./attempts.ts";
import { MOORING_GROUP, MOORING_VERSION } from "./names.ts";

/** A point-in-time copy of one volume. Cluster scoped; the name is the CSI snapshot id `s-<pool>-<uuid>`. */
export interface Snapshot extends KubeObject {
  spec: {
    volume: string;
    pool: string;
    /** Name of the GroupSnapshot that it is a member of: made, committed and removed with all the others. */
    group?: string;
    request?: Record<string, unknown>;
  };
  status?: SnapshotStatus;
}

/** How far a snapshot is. Sizes in bytes. */
export interface SnapshotStatus extends Attempts {
  readyToUse: boolean;
  /** RFC 3339 with milliseconds; set once. */
  creationTime?: string;
  /** Bytes a volume made from it needs at least. */
  restoreSize?: number;
  ownerID?: string;
  /** File system recorded on the source when it was copied. */
  formatted?: string;
  error?: { code: string; message: string };
  conditions?: Condition[];
}

/** Served at `/apis/storage.mooring.dev/v1alpha1/snapshots`. */
export const Snapshots = defineResource<Snapshot>({
  group: MOORING_GROUP,
  version: MOORING_VERSION,
  kind: "Snapshot",
  plural: "snapshots",
  namespaced: false,
});
