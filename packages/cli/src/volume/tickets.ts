import {
  type AttachmentTicket,
  type AttachmentTicketStatus,
  ticketStatus,
  type VolumeAttachment,
  VolumeAttachments,
} from "@mooring/engine";
import { defined, type ObjectStore } from "@mooring/store";
import { claimsByHandle } from "./claims.ts";

/** A ticket as `mooring ticket list` prints it. */
export interface TicketRow {
  volume: string;
  /** `NAMESPACE/CLAIM`; absent: it is no claim's. */
  claim?: string;
  id: string;
  type: string;
  priority: number;
  node: string;
  holder: string;
  satisfied: boolean;
  reason: string;
  message: string;
  /** Since when it is satisfied, or waits; RFC 3339. */
  since: string | undefined;
  expiresAt: string | undefined;
  owner: AttachmentTicket["owner"];
}

/** What is known of a ticket before the arbiter has evaluated it. */
const PENDING = { reason: "Pending", message: "not evaluated yet by the arbiter" };

function ticketRow(
  attachment: VolumeAttachment,
  ticket: AttachmentTicket,
  priorityOf: (type: string) => number,
): TicketRow {
  const status: AttachmentTicketStatus | undefined = ticketStatus(attachment, ticket.id);
  const condition = status?.conditions.find(({ type }) => type === "Satisfied");
  return {
    volume: attachment.spec.volume,
    id: ticket.id,
    type: ticket.type,
    priority: priorityOf(ticket.type),
    node: ticket.nodeID,
    holder: ticket.parameters?.lastAttachedBy ?? ticket.owner?.name ?? "",
    satisfied: status?.satisfied === true,
    reason: condition?.reason ?? PENDING.reason,
    message: condition?.message ?? PENDING.message,
    since: condition?.lastTransitionTime ?? ticket.createdAt,
    expiresAt: ticket.expiresAt,
    owner: ticket.owner,
  };
}

/** All tickets, those of one volume together and the most important first. */
export async function listTickets(
  store: ObjectStore,
  volume: string | undefined,
  priorityOf: (type: string) => number,
): Promise<TicketRow[]> {
  const { items } = await store.list(VolumeAttachments);
  const claims = await claimsByHandle(store);
  const rows = items
    .filter(({ spec }) => volume === undefined || spec.volume === volume)
    .flatMap((attachment) =>
      Object.entries(attachment.spec.attachmentTickets ?? {}).map(([id, ticket]) => ({
        ...ticketRow(attachment, { ...ticket, id }, priorityOf),
        ...defined({ claim: claims.get(attachment.spec.volume) }),
      })),
    );
  return rows.sort(
    (a, b) => a.volume.localeCompare(b.volume) || b.priority - a.priority || a.id.localeCompare(b.id),
  );
}
