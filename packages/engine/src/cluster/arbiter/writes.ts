import type { AttachmentTicket, VolumeAttachment } from "../../api/attachment.ts";
import type { Volume } from "../../api/volume.ts";
import { isWhole } from "./repair.ts";
import { nextStatus } from "./statuses.ts";
import type { ArbiterView, Decision, Placement } from "./view.ts";

/** The one object that a step writes. */
export type ArbiterWrite =
  | { do: "edit-tickets"; attachment: VolumeAttachment }
  | { do: "record-results"; attachment: VolumeAttachment }
  | { do: "place-volume"; volume: Volume };

/**
 * The first change that a decision asks for; undefined when there is none. Results go before the placement: a kill
 * between the two leaves tickets whose results report too early that they lost the volume, never one that reports that it
 * still has it.
 */
export function nextWrite(
  { volume, attachment, now }: Pick<ArbiterView, "volume" | "attachment" | "now">,
  decision: Decision,
): ArbiterWrite | undefined {
  const { repair, remove, number } = decision;
  if (!isWhole(repair) || Object.keys(remove).length > 0 || Object.keys(number).length > 0) {
    const spec = { ...attachment.spec, attachmentTickets: editedTickets(attachment, decision, now) };
    const metadata = repair.metadata ?? attachment.metadata;
    return { do: "edit-tickets", attachment: { ...attachment, metadata, spec } };
  }
  const status = nextStatus({ volume, attachment, now }, decision);
  if (status !== undefined) return { do: "record-results", attachment: { ...attachment, status } };
  if (decision.placement === undefined) return undefined;
  return { do: "place-volume", volume: placed(volume, decision.placement) };
}

/** A placement that names no node to move to ends a migration. */
export function placed(volume: Volume, { migrationNodeID = "", ...placement }: Placement): Volume {
  const moving = migrationNodeID !== (volume.spec.migrationNodeID ?? "") ? { migrationNodeID } : {};
  return { ...volume, spec: { ...volume.spec, ...placement, ...moving } };
}

/** A ticket that was written by hand gets its number here, and its age: it queues from now on. */
function editedTickets(
  attachment: VolumeAttachment,
  decision: Decision,
  now: Date,
): Record<string, AttachmentTicket> {
  const tickets: Record<string, AttachmentTicket> = {};
  for (const [id, ticket] of Object.entries(attachment.spec.attachmentTickets ?? {})) {
    if (Object.hasOwn(decision.remove, id)) continue;
    const generation = decision.number[id];
    const owner = decision.repair.own[id];
    const owned = owner === undefined ? ticket : { ...ticket, owner };
    const createdAt = ticket.createdAt ?? now.toISOString();
    tickets[id] = generation === undefined ? owned : { ...owned, id, generation, createdAt };
  }
  return { ...tickets, ...decision.repair.add };
}
