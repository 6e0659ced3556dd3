import { type Condition, defineResource, type KubeObject } from "@mooring/store";
import { MOORING_GROUP, MOORING_VERSION } from "./names.ts";

/** What CSI and Kubernetes allow in one group, too. */
export const MAX_GROUP_MEMBERS = 100;
/** How long writers may be frozen, at most, by default. */
export const DEFAULT_BARRIER_SECONDS = 5;

/** One volume of a group and the snapshot that is made of it. */
export interface GroupMember {
  /** Name of the Volume. */
  volume: string;
  /** Name of the Snapshot to make: `s-...`. */
  snapshot: string;
  /** Name of the Pool that has both. */
  pool: string;
}

/** Snapshots of several volumes at one moment. Cluster scoped; the name is the CSI group snapshot id `g-<uuid>`. */
export interface GroupSnapshot extends KubeObject {
  spec: {
    /** 1 to 100, each volume once. Immutable. */
    members: GroupMember[];
    /** Seconds after which every writer goes on, whatever has been reached; default 5. */
    deadlineSeconds?: number;
    /** What the CSI call asked for, so that a repeat can be compared with it. */
    request?: Record<string, unknown>;
  };
  status?: GroupSnapshotStatus;
}

/**
 * `preparing` outside of the barrier; `quiescing`, `cutting`, `releasing` in it; `committed`: the group exists, its
 * Snapshots are being marked ready; `failing`: what was made is being removed.
 */
export type GroupSnapshotState =
  | "preparing"
  | "quiescing"
  | "cutting"
  | "releasing"
  | "committed"
  | "ready"
  | "failing"
  | "failed"
  | "deleting";

/** How writers were kept still: nothing to keep still, or one of the ways, or several joined by `+`. */
export type BarrierMethod = string;

/** What one node's agent reports about its part of the barrier. */
export interface NodeBarrier {
  /** The attempt that this is about; older ones mean nothing. */
  attempt: number;
  phase: "prepared" | "quiesced" | "cut" | "done" | "failed";
  /** How each volume was kept still, by its name. */
  methods?: Record<string, BarrierMethod>;
  startTime?: string;
  endTime?: string;
  /** On this node's monotonic clock. */
  pauseMilliseconds?: number;
  /** True: this node's writers were still when the last node had copied. */
  heldThroughCut?: boolean;
  error?: { code: string; message: string };
  /** The agent was stopped half-way: the barrier may be tried again. */
  interrupted?: boolean;
}

/** How far a group snapshot is. Times are RFC 3339 with milliseconds. */
export interface GroupSnapshotStatus {
  state: GroupSnapshotState;
  /** Counts the barriers that have been begun. */
  attempt: number;
  readyToUse: boolean;
  /** By node id: what the agents report. */
  nodes?: Record<string, NodeBarrier>;
  /** The barrier that the snapshots were made in. */
  barrier?: {
    method: BarrierMethod;
    /** RFC 3339 with milliseconds. */
    startTime: string;
    endTime: string;
    /** The longest that any node's writers were kept still. */
    pauseMilliseconds: number;
  };
  members?: { volume: string; snapshot: string; nodeID: string; method?: BarrierMethod }[];
  /** The one moment; set once, the same on every member. */
  creationTime?: string;
  error?: { code: string; message: string };
  conditions?: Condition[];
}

/** Served at `/apis/storage.mooring.dev/v1alpha1/groupsnapshots`. */
export const GroupSnapshots = defineResource<GroupSnapshot>({
  group: MOORING_GROUP,
  version: MOORING_VERSION,
  kind: "GroupSnapshot",
  plural: "groupsnapshots",
  namespaced: false,
});
