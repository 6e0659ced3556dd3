import { defined } from "@mooring/store";
import type { AttachmentTicket, VolumeAttachment } from "../../api/attachment.ts";
import type { Volume } from "../../api/volume.ts";
import { isWhole } from "./repair.ts";
import { nextStatus } from "./statuses.ts";
import type { ArbiterView, Decision, Placement } from "./view.ts";

/** What a step writes. */
export type ArbiterWrite =
  | { do: "edit-tickets"; attachment: VolumeAttachment }
  /** `volume`: placed at the same time. */
  | { do: "record-results"; attachment: VolumeAttachment; volume?: Volume }
  | { do: "place-volume"; volume: Volume };

/**
 * The first change that a decision asks for; undefined when there is none. Results go before a placement that takes the
 * volume from a ticket: a kill between the two leaves tickets whose results report too early that they lost the volume,
 * never one that reports that it still has it. Where no ticket has it the two go together, and either may come without the
 * other: the results are those of waiting until the volume is open.
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
  const next = decision.placement === undefined ? undefined : placed(volume, decision.placement);
  if (status !== undefined) {
    const free = (volume.spec.nodeID ?? "") === "";
    return {
      do: "record-results",
      attachment: { ...attachment, status },
      ...defined({ volume: free ? next : undefined }),
    };
  }
  return next === undefined ? undefined : { do: "place-volume", volume: next };
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
