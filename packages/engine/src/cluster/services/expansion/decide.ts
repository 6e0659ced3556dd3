import { isDeleting } from "@mooring/store";
import { untilRetry } from "../../../api/attempts.ts";
import { pendingExpansion } from "../../../api/pending.ts";
import type { Volume } from "../../../api/volume.ts";
import { noTicket, type TicketPlan, ticketFor } from "../tickets/plan.ts";

const TYPE = "volume-expansion-controller";

/**
 * A file system that cannot grow in use has a ticket for its volume, without its device, until it has grown: a workload that comes
 * waits for it, one that has the volume is not disturbed. Between attempts, and after the last, it has none. Pure.
 */
export function decide(volume: Volume, now: Date): TicketPlan {
  const none = noTicket(volume.metadata.name, TYPE, volume.metadata.name);
  const { status } = volume;
  const able = !isDeleting(volume) && status?.robustness !== "faulted";
  if (!able || pendingExpansion(volume) === undefined) return { tickets: [none] };
  const afterMs = untilRetry(status?.expansion ?? {}, now);
  if (afterMs > 0) return { tickets: [none], afterMs };
  return { tickets: [ticketFor({ volume, type: TYPE, owner: volume, frontend: "hidden" })] };
}
