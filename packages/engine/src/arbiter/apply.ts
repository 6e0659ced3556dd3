import { failpoint, type ObjectStore } from "@mooring/store";
import { type AttachmentTicket, type VolumeAttachment, VolumeAttachments } from "../api/attachment.ts";
import { type Volume, Volumes } from "../api/volume.ts";
import { nextStatus } from "./statuses.ts";
import type { Decision, Placement } from "./view.ts";

const afterTickets = failpoint("engine/arbiter/tickets-edited");
const afterStatus = failpoint("engine/arbiter/verdicts-written");
const afterPlacement = failpoint("engine/arbiter/volume-placed");

/**
 * Makes the first change that a decision asks for; false when there is none. Verdicts go before the placement: a
 * kill between the two leaves tickets that are told too early that they lost the volume, never one that believes
 * it still has it.
 */
export async function applyStep(
  store: ObjectStore,
  view: { volume: Volume; attachment: VolumeAttachment; now: Date },
  decision: Decision,
  signal: AbortSignal,
): Promise<boolean> {
  const { volume, attachment, now } = view;
  if (Object.keys(decision.remove).length > 0 || Object.keys(decision.number).length > 0) {
    const spec = { ...attachment.spec, attachmentTickets: editedTickets(attachment, decision) };
    await store.update(VolumeAttachments, { ...attachment, spec }, { signal });
    afterTickets();
    return true;
  }
  const status = nextStatus(attachment, decision.verdicts, now);
  if (status !== undefined) {
    await store.updateStatus(VolumeAttachments, { ...attachment, status }, { signal });
    afterStatus();
    return true;
  }
  if (decision.placement === undefined) return false;
  await store.update(Volumes, placed(volume, decision.placement), { signal });
  afterPlacement();
  return true;
}

function editedTickets(attachment: VolumeAttachment, decision: Decision): Record<string, AttachmentTicket> {
  const tickets: Record<string, AttachmentTicket> = {};
  for (const [id, ticket] of Object.entries(attachment.spec.attachmentTickets ?? {})) {
    if (Object.hasOwn(decision.remove, id)) continue;
    const generation = decision.number[id];
    tickets[id] = generation === undefined ? ticket : { ...ticket, id, generation };
  }
  return tickets;
}

function placed(volume: Volume, placement: Placement): Volume {
  return { ...volume, spec: { ...volume.spec, ...placement } };
}
