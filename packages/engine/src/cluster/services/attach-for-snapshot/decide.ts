import { isDeleting } from "@mooring/store";
import { untilRetry } from "../../../api/attempts.ts";
import type { Snapshot } from "../../../api/snapshot.ts";
import type { Volume } from "../../../api/volume.ts";
import { noTicket, type TicketPlan, ticketFor } from "../tickets/plan.ts";

/** Everything that the ticket of a snapshot depends on. */
export interface SnapshotTicketView {
  snapshot: Snapshot;
  /** The volume to copy; undefined when there is none. */
  volume: Volume | undefined;
  now: Date;
}

const TYPE = "snapshot-controller";
/** Failures that trying again does not repair. */
export const FINAL: ReadonlySet<string> = new Set(["INVALID_ARGUMENT", "DATA_LOSS"]);

/**
 * A snapshot that is not made yet has a ticket for its volume, attached or not, so that nothing moves it meanwhile; none once
 * the copy is recorded, when there is nothing to wait for, and between two attempts. Pure.
 */
export function decide({ snapshot, volume, now }: SnapshotTicketView): TicketPlan {
  const none = noTicket(snapshot.spec.volume, TYPE, snapshot.metadata.name);
  const { status = { readyToUse: false } } = snapshot;
  if (volume === undefined || isDeleting(snapshot) || status.creationTime !== undefined)
    return { tickets: [none] };
  if (FINAL.has(status.error?.code ?? "") || !canBeMade(volume, snapshot)) return { tickets: [none] };
  const afterMs = untilRetry(status, now);
  if (afterMs > 0) return { tickets: [none], afterMs };
  return { tickets: [ticketFor({ volume, type: TYPE, owner: snapshot, frontend: "any" })] };
}

function canBeMade(volume: Volume, snapshot: Snapshot): boolean {
  const { size, robustness } = volume.status ?? {};
  const whole = size !== undefined && robustness !== "faulted";
  return whole && !isDeleting(volume) && volume.spec.pool === snapshot.spec.pool;
}
