import type { Volume } from "../../api/volume.ts";
import { isMoving } from "../../tickets/migration-phase.ts";

/** Everything that a decision about a migration may depend on. */
export interface MigrationView {
  volume: Pick<Volume, "spec" | "status">;
  /** This node. */
  nodeID: string;
  /** What this node has: `withheld` is open but fenced from the data, `stale` one of a file that was replaced. */
  device: "none" | "withheld" | "open" | "stale";
  /** `/dev/loop3`; empty: none. */
  path: string;
  lease: MigrationLease;
  /** This node's agent deals with the volume, apart from the migration. */
  responsible: boolean;
  /** The agent of the node in `status.currentMigrationNodeID` responds. */
  targetReady: boolean;
}

/** The image's lease, as this node sees it. */
export interface MigrationLease {
  /** This agent has it, and may open the image. */
  held: boolean;
  /** The record of it names this agent, whether this process has seen it or not. */
  ours: boolean;
  /** No node has it, and it is not meant for another one. */
  free: boolean;
  /** The last lease holder was not seen to close it: the image has to be replaced before it is used. */
  unclean: boolean;
}

/** What a node writes to the volume of its part of a migration. */
export type MigrationRecord =
  /** The target's device is open, and fenced. */
  | "target-ready"
  /** It is not there any more: after a restart of the machine. */
  | "target-lost"
  /** The target has closed it. */
  | "target-closed"
  /** The target does not respond, and what it had open was fenced from the start. */
  | "target-gone"
  /** The target has the volume. */
  | "moved";

/** One step of a node's part of a live migration (decision 0012). */
export type MigrationStep =
  | { do: "withhold-device" }
  | { do: "fence" }
  | { do: "drop-device" }
  | { do: "close-source" }
  | { do: "hand-over"; to: string }
  | { do: "take-lease" }
  | { do: "activate-device" }
  | { do: "record"; what: MigrationRecord }
  /** Nothing until something changes; and no other controller of this node has anything to do with the volume. */
  | { do: "wait" };

/**
 * What this node does next about a migration; undefined: nothing, its ordinary work goes on. Pure.
 *
 * One node writes at any time: a device is open, not just withheld, only under the image's lease. The source closes its
 * own before it hands the lease over, and the target has the lease before its device comes to life.
 */
export function decideMigration(view: MigrationView): MigrationStep | undefined {
  const { volume, nodeID } = view;
  const { nodeID: wanted = "", migrationNodeID = "" } = volume.spec;
  const { currentMigrationNodeID = "", ownerID } = volume.status ?? {};
  if (isMoving(volume)) {
    if (wanted === nodeID) return takeOver(view);
    if (ownerID === nodeID) return giveAway(view, wanted);
    return undefined;
  }
  if (migrationNodeID === nodeID && ownerID !== nodeID) return prepare(view);
  if (currentMigrationNodeID === nodeID) return leave(view);
  return clearAway(view);
}

/** The target, before anything is confirmed. */
function prepare({ volume, nodeID, device, path }: MigrationView): MigrationStep | undefined {
  const { currentMigrationNodeID = "", migrationDevice } = volume.status ?? {};
  // Another target has not closed its device yet.
  if (currentMigrationNodeID !== "" && currentMigrationNodeID !== nodeID) return { do: "wait" };
  const reported = currentMigrationNodeID === nodeID;
  switch (device) {
    case "open":
      return { do: "fence" };
    case "stale":
      return { do: "drop-device" };
    case "none":
      return reported ? { do: "record", what: "target-lost" } : { do: "withhold-device" };
    case "withheld":
      return reported && migrationDevice === path ? { do: "wait" } : { do: "record", what: "target-ready" };
  }
}

/** The target, once the source's workload has gone. */
function takeOver({ device, lease }: MigrationView): MigrationStep | undefined {
  if (!lease.held) return lease.ours || lease.free ? { do: "take-lease" } : undefined;
  // A lease holder that was lost: as after any other loss.
  if (lease.unclean) return undefined;
  switch (device) {
    // The machine has restarted since it reported that it is ready, and no other node has the volume any more.
    case "none":
      return { do: "withhold-device" };
    case "stale":
      return { do: "drop-device" };
    case "withheld":
      return { do: "activate-device" };
    case "open":
      return { do: "record", what: "moved" };
  }
}

/** The source, once its workload has gone. */
function giveAway({ device, lease }: MigrationView, to: string): MigrationStep {
  if (device !== "none") return { do: "close-source" };
  return lease.ours ? { do: "hand-over", to } : { do: "wait" };
}

/** The target, after a roll-back or a detach. Nothing has ever gone through a device that is withheld. */
function leave({ device }: MigrationView): MigrationStep {
  if (device === "open") return { do: "fence" };
  return device === "none" ? { do: "record", what: "target-closed" } : { do: "drop-device" };
}

/** The node that has the volume's lease, for a target that cannot do it itself. */
function clearAway({ volume, responsible, lease, targetReady }: MigrationView): MigrationStep | undefined {
  const { migrationNodeID = "" } = volume.spec;
  const { currentMigrationNodeID: target = "" } = volume.status ?? {};
  const gone = target !== "" && target !== migrationNodeID && !targetReady;
  if (!gone || !responsible) return undefined;
  if (lease.held) return { do: "record", what: "target-gone" };
  return lease.ours || lease.free ? { do: "take-lease" } : undefined;
}
