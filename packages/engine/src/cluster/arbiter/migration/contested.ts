import type { AttachmentTicket } from "../../../api/attachment.ts";
import { isMigratable } from "../../../tickets/migration-phase.ts";
import { ineligible } from "../eligible.ts";
import type { ArbiterView } from "../view.ts";

/**
 * A migratable volume that was detached while two workloads had it: the arbiter cannot know any more which of them is the one
 * that goes on, so one has to leave first. One whose node is lost does not count.
 */
export function isContested(
  view: ArbiterView,
  winner: AttachmentTicket,
  tickets: readonly AttachmentTicket[],
): boolean {
  return winner.type === "csi-attacher" && rivalOf(view, winner, tickets) !== undefined;
}

/** Another workload's ticket, for another node that is ready. */
export function rivalOf(
  view: ArbiterView,
  { nodeID }: AttachmentTicket,
  tickets: readonly AttachmentTicket[],
): AttachmentTicket | undefined {
  if (!isMigratable(view.volume)) return undefined;
  return tickets.find(
    (t) => t.type === "csi-attacher" && t.nodeID !== nodeID && ineligible(view, t) === undefined,
  );
}
