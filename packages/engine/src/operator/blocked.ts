import { defined } from "@mooring/store";
import type { AttachmentTicket } from "../api/attachment.ts";
import { EngineError, type WayOut } from "../errors.ts";
import { nameOf } from "../tickets/summary.ts";

/** An operator's request that other tickets keep from being met. */
export class BlockedByTickets extends EngineError {
  readonly tickets: readonly AttachmentTicket[];

  constructor(message: string, tickets: readonly AttachmentTicket[], hint: string, wayOut?: WayOut) {
    super("FAILED_PRECONDITION", `${message}: ${tickets.map(describe).join(", ")}`, {
      hint,
      ...defined({ wayOut }),
    });
    this.tickets = tickets;
  }
}

function describe(ticket: AttachmentTicket): string {
  return `ticket "${ticket.id}" (${ticket.type}) of ${nameOf(ticket)} on node "${ticket.nodeID}"`;
}
