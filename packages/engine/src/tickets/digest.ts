import { createHash } from "node:crypto";
import type { AttachmentTicket, VolumeAttachment } from "../api/attachment.ts";

/** 16 hex digits over all that a result depends on; equal for equal requests, in whatever order their fields are. */
export function digestOf({ type, nodeID, parameters = {} }: AttachmentTicket): string {
  const text = JSON.stringify([type, nodeID, Object.entries(parameters).sort()]);
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

/**
 * Whether the present result of a ticket is about the ticket as it is now. The number alone is not enough: who edits a
 * ticket by hand leaves its number as it was. A status of an earlier version has no digests: there the number decides.
 */
export function isEvaluated({ status }: VolumeAttachment, ticket: AttachmentTicket): boolean {
  const result = status?.attachmentTicketStatuses?.[ticket.id];
  if (result === undefined || result.generation !== ticket.generation) return false;
  const digest = status?.ticketDigests?.[ticket.id];
  return digest === undefined || digest === digestOf(ticket);
}

/** The highest number that was ever evaluated; 0 when what stands there cannot be true, so that it is written anew. */
export function lastNumber({ metadata, status }: VolumeAttachment): number {
  const { generationCounter = 0 } = status ?? {};
  return generationCounter >= 0 && generationCounter <= (metadata.generation ?? 0) ? generationCounter : 0;
}
