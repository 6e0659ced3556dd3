import { Code, CsiError } from "@mooring/csi";
import { editTickets, isOwnedByKubernetes, ticketStatus } from "@mooring/engine";
import { isNotFound, type ObjectStore } from "@mooring/store";

/**
 * Takes back the ticket of a publication that was refused for good: the caller may never come again, and nothing else
 * would end it. Not one of Kubernetes: it goes with its VolumeAttachment, whose attacher does call again, and keeps its
 * turn. What was satisfied meanwhile stays, as the repeated call succeeds.
 */
export async function withdrawTicket(
  store: ObjectStore,
  volumeId: string,
  ticketId: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await editTickets(store, volumeId, signal, (attachment) => {
      const { [ticketId]: ticket, ...others } = attachment.spec.attachmentTickets ?? {};
      const kept = ticket === undefined || isOwnedByKubernetes(ticket);
      if (kept || ticketStatus(attachment, ticketId)?.satisfied === true) return { result: undefined };
      return { result: undefined, next: { ...attachment.spec, attachmentTickets: others } };
    });
  } catch (error) {
    // With the volume.
    if (!isNotFound(error)) throw error;
  }
}

/** An operator has to do something first; all else passes, or is how far a call came in its time. */
export function isRefusal(error: unknown): boolean {
  return error instanceof CsiError && error.code === Code.FAILED_PRECONDITION;
}
