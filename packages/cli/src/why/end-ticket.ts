import { ATTACHER_RULES, type AttachmentTicket } from "@mooring/engine";

/** How to end a ticket that belongs to another holder, and what that does. */
export function endTicket(ticket: AttachmentTicket, volume: string): string {
  return `mooring ticket rm ${volume} ${ticket.id} --force (${effect(ticket)})`;
}

function effect({ type, owner, parameters }: AttachmentTicket): string {
  const stays = "the device stays open until it is unmounted there";
  switch (type) {
    case "longhorn-api":
      return `takes it from ${parameters?.lastAttachedBy ?? "an operator"}; ${stays}`;
    case "csi-attacher":
      return owner?.kind === "VolumeAttachment"
        ? `deletes VolumeAttachment ${owner.name} of Kubernetes, which attaches it again for pods that want it; ${stays}`
        : `ends its publication on the node; ${stays}`;
    case "share-manager-controller":
      return "in vain: it comes back for as long as workloads use the volume";
    default:
      // An unknown type has no service that would ask again.
      return type in ATTACHER_RULES
        ? "interrupts its job, which asks again for as long as it is due"
        : "no controller asks again for it";
  }
}
