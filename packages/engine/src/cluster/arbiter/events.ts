import type { EventRecorder } from "@mooring/store";
import type { AttachmentTicket, VolumeAttachment } from "../../api/attachment.ts";
import type { Volume } from "../../api/volume.ts";
import type { TicketReason } from "../../tickets/result.ts";
import { ticketsOf } from "../../tickets/tickets-of.ts";
import { type ArbiterView, placementOf } from "./view.ts";
import type { ArbiterWrite } from "./writes.ts";

/** What happened to a volume's tickets, for `kubectl describe`. */
interface AttachmentEvent {
  type: "Normal" | "Warning";
  reason: string;
  message: string;
}

/** Steps on the way that the next result follows at once. */
const QUIET: ReadonlySet<string> = new Set<TicketReason>(["Attaching", "GenerationPending"]);

/** Reasons that do not end by themselves. */
const WARNINGS: ReadonlySet<string> = new Set<TicketReason>([
  "AttachedWithIncompatibleParameters",
  "NodeNotFound",
  "NodeUnreachable",
  "NodeUnfenced",
  "VolumeFaulted",
  "Flapping",
]);

/** What a write of the arbiter means, as events. Pure. */
export function eventsOf(
  view: Pick<ArbiterView, "attachment" | "volume">,
  write: ArbiterWrite,
): AttachmentEvent[] {
  switch (write.do) {
    case "edit-tickets":
      return editEvents(view.attachment, write.attachment);
    case "record-results":
      return [
        ...resultEvents(view.attachment, write.attachment),
        ...stateEvents(view.attachment, write.attachment),
      ];
    case "place-volume":
      return placementEvents(view.volume, write.volume);
  }
}

/** Emits the events of a write that is on disk; a kill before it loses them, and only them. */
export function emitEvents(recorder: EventRecorder, view: ArbiterView, write: ArbiterWrite): void {
  for (const { type, reason, message } of eventsOf(view, write)) {
    recorder.event(view.attachment, type, reason, message);
  }
}

/** Tickets go with the object when there is no volume: an operator who wrote them by hand learns why. */
export function reportLost(recorder: EventRecorder, attachment: VolumeAttachment): void {
  const ids = ticketsOf(attachment).map(({ id }) => `"${id}"`);
  if (ids.length === 0) return;
  const message = `there is no volume "${attachment.spec.volume}": the object is removed, with ticket ${ids.join(", ")}`;
  recorder.event(attachment, "Warning", "VolumeNotFound", message);
}

/** Only what a live migration does is no consequence of a result. */
function placementEvents(before: Volume, after: Volume): AttachmentEvent[] {
  const { nodeID: from, migrationNodeID: was = "" } = placementOf(before);
  const { nodeID: to, migrationNodeID: target = "" } = placementOf(after);
  if (was === target) return [];
  if (target !== "") {
    const message = `the volume moves from node "${from}" to node "${target}": both get a device, the first one writes`;
    return [{ type: "Normal", reason: "MigrationStarted", message }];
  }
  if (to === was) {
    const message = `the volume is handed over from node "${from}" to node "${to}"`;
    return [{ type: "Normal", reason: "MigrationConfirmed", message }];
  }
  if (to === from) {
    const message = `the volume stays on node "${from}"; node "${was}" closes its device`;
    return [{ type: "Normal", reason: "MigrationRolledBack", message }];
  }
  const message = `the volume is detached from node "${from}" in the middle of its move to node "${was}"`;
  return [{ type: "Warning", reason: "MigrationAborted", message }];
}

function editEvents(before: VolumeAttachment, after: VolumeAttachment): AttachmentEvent[] {
  const had = new Set(ticketsOf(before).map(({ id }) => id));
  const has = new Set(ticketsOf(after).map(({ id }) => id));
  const back = ticketsOf(after).filter(({ id }) => !had.has(id));
  const gone = ticketsOf(before).filter(({ id }) => !has.has(id));
  return [
    ...back.map((ticket) => ({
      type: "Warning" as const,
      reason: "TicketRestored",
      message: `${subject(ticket)} was lost while the volume is in use on node "${ticket.nodeID}"; it is back`,
    })),
    ...gone.map((ticket) => ({
      type: "Normal" as const,
      reason: "TicketEnded",
      message: `${subject(ticket)} has ended: ${ending(ticket)}`,
    })),
  ];
}

function ending({ expiresAt, owner }: AttachmentTicket): string {
  if (owner !== undefined) return `${owner.kind} ${owner.name} does not exist any more`;
  return `its time was over at ${expiresAt}`;
}

function resultEvents(before: VolumeAttachment, after: VolumeAttachment): AttachmentEvent[] {
  return ticketsOf(after).flatMap((ticket) => {
    const now = after.status?.attachmentTicketStatuses?.[ticket.id]?.conditions?.[0];
    const was = before.status?.attachmentTicketStatuses?.[ticket.id]?.conditions?.[0];
    if (now === undefined || now.reason === was?.reason || QUIET.has(now.reason)) return [];
    const type = WARNINGS.has(now.reason) ? "Warning" : "Normal";
    return [{ type, reason: now.reason, message: `${subject(ticket)}: ${now.message}` }];
  });
}

function stateEvents(before: VolumeAttachment, after: VolumeAttachment): AttachmentEvent[] {
  const was = before.status?.state;
  if (after.status?.state !== "detached" || was === undefined || was === "detached" || was === "creating")
    return [];
  return [{ type: "Normal", reason: "Detached", message: "the volume is detached from every node" }];
}

function subject({ id, type }: AttachmentTicket): string {
  return `ticket "${id}" (${type})`;
}
