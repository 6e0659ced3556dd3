import type { AttachmentTicket } from "../api/attachment.ts";

/** False for a ticket that wants the device when there is none, or the other way round; "any" fits both. */
export function parametersFit(ticket: AttachmentTicket, disableFrontend: boolean): boolean {
  const wanted = ticket.parameters?.disableFrontend ?? "false";
  if (wanted === "true") return disableFrontend;
  if (wanted === "false" || wanted === "") return !disableFrontend;
  return true;
}

/** True for a ticket that is content with a device and without one. */
export function indifferent(ticket: AttachmentTicket): boolean {
  return parametersFit(ticket, true) && parametersFit(ticket, false);
}

/** True for a ticket that needs a device that workloads can use. */
export function wantsDevice(ticket: AttachmentTicket): boolean {
  return !parametersFit(ticket, true);
}
