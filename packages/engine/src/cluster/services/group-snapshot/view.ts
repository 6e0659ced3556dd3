import type { Outcome } from "@mooring/store";
import type { GroupSnapshot, GroupSnapshotStatus } from "../../../api/group-snapshot.ts";
import type { Snapshot } from "../../../api/snapshot.ts";
import type { Volume } from "../../../api/volume.ts";

/** Everything that a decision about a group snapshot may depend on. */
export interface CoordinatorView {
  group: GroupSnapshot;
  /** The members' volumes by name; absent ones are not there. */
  volumes: ReadonlyMap<string, Volume>;
  /** The members' snapshots by name; absent ones are not there. */
  snapshots: ReadonlyMap<string, Snapshot>;
  /** Node of each local pool by name; absent ones are not there. */
  poolNodes: ReadonlyMap<string, string>;
  /** Names of the pools that several nodes have together. */
  sharedPools: ReadonlySet<string>;
  /** Nodes whose agents respond. */
  readyNodes: ReadonlySet<string>;
  /** Nodes that are in the barrier of another group now. */
  busyNodes: ReadonlySet<string>;
  /** False: it is in its barrier, and we have not kept its nodes for it yet. */
  claimed: boolean;
  now: Date;
}

/** What a status write records; the failpoints of crash tests are named after them. */
export type GroupRecord =
  | "preparing"
  | "quiescing"
  | "cutting"
  | "releasing"
  | "committed"
  | "ready"
  | "unready"
  | "failing"
  | "failed"
  | "deleting";

/** One visible change of a GroupSnapshot by its coordinator. */
export type CoordinatorStep =
  | Outcome
  | { do: "add-finalizer" }
  | { do: "remove-finalizer" }
  /** The nodes of a barrier that is under way, also when the write that began it seemed to fail. */
  | { do: "resume-claim" }
  | { do: "create-members" }
  | { do: "delete-members" }
  /** Who is waited for, in `status.error`. */
  | { do: "note"; status: GroupSnapshotStatus }
  | { do: "record"; what: GroupRecord; status: GroupSnapshotStatus };
