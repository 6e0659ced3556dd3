import type { VolumeAttachment } from "@mooring/engine";

/** Nodes with a CSI ticket of this volume. */
export function publishedNodes(attachment: VolumeAttachment | undefined): string[] {
  const tickets = Object.values(attachment?.spec.attachmentTickets ?? {});
  return tickets.filter((ticket) => ticket.type === "csi-attacher").map((ticket) => ticket.nodeID);
}
