import { isDeleting } from "@mooring/store";
import { untilRetry } from "../../../api/attempts.ts";
import { pendingSalvage } from "../../../api/salvage.ts";
import type { Volume } from "../../../api/volume.ts";
import { noTicket, type TicketPlan, ticketFor } from "../tickets/plan.ts";

const TYPE = "salvage-controller";

/**
 * A faulted volume has a ticket, without its device, until it is checked and repaired; then it goes back to where its other
 * tickets want it. What no node may do, or can do, has no ticket. Pure.
 */
export function decide(volume: Volume, now: Date): TicketPlan {
  const { name } = volume.metadata;
  const none: TicketPlan = { tickets: [noTicket(name, TYPE, name)] };
  const fault = pendingSalvage(volume);
  if (fault === undefined || isDeleting(volume)) return none;
  const afterMs = untilRetry(fault, now);
  if (afterMs > 0) return { ...none, afterMs };
  return { tickets: [ticketFor({ volume, type: TYPE, owner: volume, frontend: "hidden" })] };
}
