import type { AttachmentTicket } from "../api/attachment.ts";
import type { World } from "./world.ts";

/**
 * An operator edits a ticket and leaves its number as it was, and later applies it again as it once was, with its old
 * number, also when it has ended meanwhile.
 */
export function handEdit(world: World, id: string, nodeID: string): void {
  const { attachment, saved, handWritten } = world;
  const present = attachment.spec.attachmentTickets?.[id];
  const old = saved.get(id);
  const next = old === undefined ? edited(present, nodeID) : old;
  if (next === undefined) return;
  if (old !== undefined) saved.delete(id);
  else if (present !== undefined) saved.set(id, present);
  handWritten.add(id);
  world.writeTickets({
    ...attachment.spec,
    attachmentTickets: { ...attachment.spec.attachmentTickets, [id]: next },
  });
  const how = old === undefined ? "edited by hand" : "applied again as it was";
  world.log(`ticket "${id}" is ${how}: node "${next.nodeID}", number ${next.generation}`);
}

/** The API server lets no user change node and front end of a ticket that Kubernetes stands for. */
function edited(ticket: AttachmentTicket | undefined, nodeID: string): AttachmentTicket | undefined {
  if (ticket === undefined) return undefined;
  if (ticket.type === "csi-attacher") return { ...ticket, generation: 1 };
  if (ticket.nodeID !== nodeID) return { ...ticket, nodeID };
  const disableFrontend = ticket.parameters?.["disableFrontend"] === "any" ? "false" : "any";
  return { ...ticket, parameters: { ...ticket.parameters, disableFrontend } };
}
