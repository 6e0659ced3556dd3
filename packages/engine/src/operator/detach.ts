import { defined, isConflict, isNotFound, KubeVolumeAttachments, type ObjectStore } from "@mooring/store";
import type { AttachmentTicket } from "../api/attachment.ts";
import { EngineError } from "../errors.ts";
import { ruleOf } from "../tickets/attacher-types.ts";
import { getAttachment } from "../tickets/attachment-object.ts";
import { isOwnedByKubernetes } from "../tickets/kubernetes-claim.ts";
import { nameOf } from "../tickets/summary.ts";
import { OPERATOR_TICKET } from "../tickets/ticket-id.ts";
import { editTickets, withoutTickets } from "../tickets/tickets.ts";
import { ticketsOf } from "../tickets/tickets-of.ts";
import { findVolume } from "./attach.ts";
import { BlockedByTickets } from "./blocked.ts";
import { checkCaller, checkId, type DetachRequest } from "./request.ts";

/**
 * Ends an operator's own ticket; one that is not there has ended already. A forced detach ends the ticket that it names,
 * whichever holder it has, and without a name those of operators and workloads, with scope `all` those of jobs too; it
 * deletes Kubernetes' attachments, so that Kubernetes detaches: its tickets would come back otherwise. A device in use
 * stays open until its user closes it. Resolves with the ids that ended. Throws INVALID_ARGUMENT, NOT_FOUND,
 * PERMISSION_DENIED or FAILED_PRECONDITION.
 */
export async function detachVolume(
  store: ObjectStore,
  request: DetachRequest,
  signal?: AbortSignal,
): Promise<string[]> {
  const id = checkId(request.attachmentID || OPERATOR_TICKET, "ticket id");
  const caller = checkCaller(request.attachedBy);
  await findVolume(store, request.volume, signal);
  if (request.forceDetach === true) return force(store, request, signal);
  return editTickets(store, request.volume, signal, (attachment) => {
    const present = attachment.spec.attachmentTickets?.[id];
    if (present !== undefined) requireOwn({ ...present, id }, caller, request.volume);
    return withoutTickets(attachment, (ticket) => ticket.id === id);
  });
}

/** Only the operator who took a ticket gives it back: a mistyped id must not take a device from another user. */
function requireOwn(ticket: AttachmentTicket, caller: string, volume: string): void {
  if (ticket.type !== "longhorn-api") {
    const { owner } = ticket;
    const ends = owner === undefined ? "when its work is done" : `with ${owner.kind} "${owner.name}"`;
    throw new EngineError(
      "PERMISSION_DENIED",
      `ticket "${ticket.id}" belongs to ${ticket.type} and ends ${ends}`,
      {
        hint: `\`mooring why volume/${volume}\` shows what it does; a forced detach ends it now.`,
        wayOut: "force",
      },
    );
  }
  const holder = nameOf(ticket);
  if (caller === holder) return;
  throw new BlockedByTickets(
    `ticket "${ticket.id}" is held by ${holder}, not by ${caller}`,
    [ticket],
    `Ask ${holder} to detach; a forced detach ends it now.`,
    "force",
  );
}

async function force(
  store: ObjectStore,
  { volume, scope = "workload", attachmentID }: DetachRequest,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const meant = (ticket: AttachmentTicket): boolean =>
    attachmentID ? ticket.id === attachmentID : scope === "all" || ruleOf(ticket.type).workload;
  const attachment = await getAttachment(store, volume, signal);
  const asked = (attachment === undefined ? [] : ticketsOf(attachment)).filter(
    (ticket) => meant(ticket) && isOwnedByKubernetes(ticket),
  );
  for (const ticket of asked) await detachInKubernetes(store, ticket, signal);
  const ended = await editTickets(store, volume, signal, (present) => withoutTickets(present, meant));
  // Those of Kubernetes may have gone with their attachments in between.
  return [...new Set([...asked.map(({ id }) => id), ...ended])];
}

async function detachInKubernetes(
  store: ObjectStore,
  { owner }: AttachmentTicket,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { name = "", uid = "" } = owner ?? {};
  try {
    await store.delete(
      KubeVolumeAttachments,
      { name },
      {
        preconditions: { uid },
        ...defined({ signal }),
      },
    );
  } catch (error) {
    // Gone, or made again for another holder.
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}
