import { isDeleting } from "@mooring/store";
import { untilRetry } from "../../../api/attempts.ts";
import { isCommitted, pendingRestore } from "../../../api/pending.ts";
import type { Snapshot } from "../../../api/snapshot.ts";
import type { Volume, VolumeRestore } from "../../../api/volume.ts";
import { noTicket, type TicketPlan, ticketFor } from "../tickets/plan.ts";

const TYPE = "volume-restore-controller";

/** Everything that the ticket of a restore depends on. */
export interface RestoreView {
  volume: Volume;
  /** The one that `spec.restoreFrom` names; undefined when there is none. */
  snapshot: Snapshot | undefined;
  now: Date;
}

/** `refuse`: written to `status.restore`, since no attempt could end well. */
export interface RestorePlan extends TicketPlan {
  refuse?: VolumeRestore;
}

/**
 * A volume that goes back to a snapshot has a ticket, without its device, until its bytes are in place. A workload that has
 * the volume is not disturbed: the restore waits for it to leave, and the next one waits for the restore. Pure.
 */
export function decide({ volume, snapshot, now }: RestoreView): RestorePlan {
  const { name } = volume.metadata;
  const none: TicketPlan = { tickets: [noTicket(name, TYPE, name)] };
  const wanted = pendingRestore(volume);
  if (wanted === undefined || isDeleting(volume) || volume.status?.size === undefined) return none;
  const problem = unfit(volume, snapshot, wanted.snapshot);
  if (problem !== undefined) {
    return {
      ...none,
      refuse: { ...wanted, state: "Failed", finishedAt: now.toISOString(), message: problem },
    };
  }
  // It is being made: its watch brings us back.
  if (snapshot?.status?.readyToUse !== true && !isCommitted(volume)) return none;
  const afterMs = untilRetry(volume.status.restore ?? {}, now);
  if (afterMs > 0) return { ...none, afterMs };
  return { tickets: [ticketFor({ volume, type: TYPE, owner: volume, frontend: "hidden" })] };
}

function unfit(volume: Volume, snapshot: Snapshot | undefined, wanted: string): string | undefined {
  // The other members of its group may have gone back already: its ticket stays until it has, too, whatever that takes.
  if (isCommitted(volume)) return undefined;
  if (snapshot === undefined || isDeleting(snapshot)) return `there is no snapshot ${wanted}`;
  if (snapshot.spec.volume !== volume.metadata.name) {
    return `snapshot ${wanted} is of volume ${snapshot.spec.volume}: make a new volume from it instead`;
  }
  if (snapshot.spec.pool !== volume.spec.pool) return `snapshot ${wanted} is in pool ${snapshot.spec.pool}`;
  return undefined;
}
