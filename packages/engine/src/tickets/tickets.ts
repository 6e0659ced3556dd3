import { defined, isConflict, isNotFound, type ObjectStore } from "@mooring/store";
import {
  type AttachmentTicket,
  type AttachmentTicketStatus,
  type VolumeAttachment,
  VolumeAttachments,
} from "../api/attachment.ts";
import { ensureAttachment, retryBackoff } from "./attachment-object.ts";
import { isEvaluated } from "./digest.ts";

/** A ticket as its owner asks for it; the rest is filled in when it is written. */
export type TicketRequest = Omit<AttachmentTicket, "generation" | "createdAt"> & { createdAt?: string };

/** A change of an attachment; without `next` there is nothing to write. */
interface TicketEdit<R> {
  result: R;
  next?: VolumeAttachment["spec"];
}

/** The attachment with one ticket more, or changed. A request with nothing new changes nothing. Pure. */
export function withTicket(
  attachment: VolumeAttachment,
  request: TicketRequest,
  now: Date,
): TicketEdit<AttachmentTicket> {
  const present = attachment.spec.attachmentTickets?.[request.id];
  if (present !== undefined && isSameRequest(present, request)) return { result: present };
  const ticket: AttachmentTicket = {
    ...request,
    createdAt: present?.createdAt ?? request.createdAt ?? now.toISOString(),
    // The write that carries it raises metadata.generation to exactly this number, or fails with Conflict.
    generation: (attachment.metadata.generation ?? 0) + 1,
  };
  const attachmentTickets = { ...attachment.spec.attachmentTickets, [request.id]: ticket };
  return { result: ticket, next: { ...attachment.spec, attachmentTickets } };
}

/** The attachment without the tickets that `which` names, and their ids. Pure. */
export function withoutTickets(
  attachment: VolumeAttachment,
  which: (ticket: AttachmentTicket) => boolean,
): TicketEdit<string[]> {
  const all = Object.entries(attachment.spec.attachmentTickets ?? {});
  const gone = all.filter(([id, ticket]) => which({ ...ticket, id })).map(([id]) => id);
  if (gone.length === 0) return { result: gone };
  const attachmentTickets = Object.fromEntries(all.filter(([id]) => !gone.includes(id)));
  return { result: gone, next: { ...attachment.spec, attachmentTickets } };
}

/**
 * Adds a ticket, or changes the one with the same id. A request with nothing new writes nothing, so a retry
 * does not disturb a ticket that is satisfied. Throws NotFound when there is no such Volume.
 */
export async function addTicket(
  store: ObjectStore,
  volumeName: string,
  request: TicketRequest,
  { now, signal }: { now: Date; signal?: AbortSignal },
): Promise<AttachmentTicket> {
  return editTickets(store, volumeName, signal, (attachment) => withTicket(attachment, request, now));
}

/** Removes the tickets that `which` names; resolves with their ids. A volume without attachment object has none. */
export async function removeTickets(
  store: ObjectStore,
  volumeName: string,
  which: (ticket: AttachmentTicket) => boolean,
  signal?: AbortSignal,
): Promise<string[]> {
  try {
    return await editTickets(store, volumeName, signal, (attachment) => withoutTickets(attachment, which));
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}

/** A ticket's result, or undefined when the arbiter has not evaluated the ticket as it is now. */
export function ticketStatus(attachment: VolumeAttachment, id: string): AttachmentTicketStatus | undefined {
  const ticket = attachment.spec.attachmentTickets?.[id];
  if (ticket === undefined || !isEvaluated(attachment, { ...ticket, id })) return undefined;
  return attachment.status?.attachmentTicketStatuses?.[id];
}

/** The ticket is as the request wants it. */
export function isSameRequest(present: AttachmentTicket, request: TicketRequest): boolean {
  const content = (t: TicketRequest) =>
    JSON.stringify([
      t.type,
      t.nodeID,
      Object.entries(t.parameters ?? {}).sort(),
      t.owner ?? null,
      t.expiresAt ?? null,
    ]);
  return content(present) === content(request);
}

/**
 * Reads the attachment, lets `change` read and edit it, and writes unless another client has written meanwhile:
 * then again, so that what `change` has checked is true of what is written. Throws NotFound without such a Volume.
 */
export async function editTickets<R>(
  store: ObjectStore,
  volumeName: string,
  signal: AbortSignal | undefined,
  change: (attachment: VolumeAttachment) => TicketEdit<R>,
): Promise<R> {
  for (;;) {
    signal?.throwIfAborted();
    const attachment = await ensureAttachment(store, volumeName, signal);
    const { result, next } = change(attachment);
    if (next === undefined) return result;
    try {
      await store.update(VolumeAttachments, { ...attachment, spec: next }, defined({ signal }));
      return result;
    } catch (error) {
      // Gone means that the object was one of an earlier volume of this name: the next round makes a new one.
      if (!isConflict(error) && !isNotFound(error)) throw error;
      await retryBackoff(signal);
    }
  }
}
