import type { AttachmentTicket, VolumeAttachment } from "../api/attachment.ts";

/** All tickets, in an order that does not depend on how the map was built. */
export function ticketsOf(attachment: VolumeAttachment): AttachmentTicket[] {
  const tickets = Object.entries(attachment.spec.attachmentTickets ?? {});
  return tickets.map(([id, ticket]) => ({ ...ticket, id })).sort((a, b) => (a.id < b.id ? -1 : 1));
}
