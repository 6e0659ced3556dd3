import { defined } from "@mooring/store";
import type { AttacherType } from "../api/attachment.ts";
import type { Volume } from "../api/volume.ts";
import { ticketIdFor } from "./ticket-id.ts";
import type { TicketRequest } from "./tickets.ts";

/** Type of the ticket that keeps a served volume on the node that serves it. */
export const SHARE_TYPE = "share-manager-controller" satisfies AttacherType;

/** The ticket of a volume's share manager on that node; it dies with the volume. */
export function shareTicket({ apiVersion, kind, metadata }: Volume, nodeID: string): TicketRequest {
  const { name, uid } = metadata;
  const owner = { apiVersion, kind, name, ...defined({ uid }) };
  return { id: ticketIdFor(SHARE_TYPE, name), type: SHARE_TYPE, nodeID, owner };
}
