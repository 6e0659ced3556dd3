import { defined } from "@mooring/store";
import type { AttachmentTicket, VolumeAttachment } from "../../api/attachment.ts";
import type { Volume } from "../../api/volume.ts";
import { ticketStatus } from "../../tickets/tickets.ts";
import { ticketsOf } from "../../tickets/tickets-of.ts";
import type { AttachmentsResource, ControllerResource, TicketResource, VolumeResource } from "./resources.ts";

/** Names of the actions that a volume's links offer. */
export const ACTIONS = [
  "attach",
  "detach",
  "snapshotCRCreate",
  "snapshotCRList",
  "snapshotCRGet",
  "snapshotCRDelete",
] as const;

/** A volume with the links that begin with `base`. */
export function volumeResource(
  volume: Volume,
  attachment: VolumeAttachment | undefined,
  base: string,
): VolumeResource {
  const { metadata, spec, status } = volume;
  const self = `${base}/v1/volumes/${encodeURIComponent(metadata.name)}`;
  const state = status?.state ?? "creating";
  const robustness = status?.robustness ?? "unknown";
  return {
    id: metadata.name,
    type: "volume",
    name: metadata.name,
    created: metadata.creationTimestamp ?? "",
    size: String(spec.size),
    accessMode: spec.accessMode,
    migratable: spec.migratable === true,
    state,
    robustness,
    ready: state !== "creating" && state !== "deleting" && robustness !== "faulted",
    frontend: "blockdev",
    disableFrontend: spec.disableFrontend === true,
    lastAttachedBy: spec.lastAttachedBy ?? "",
    nodeID: spec.nodeID ?? "",
    ownerID: status?.ownerID ?? "",
    controllers: controllersOf(volume),
    error: status?.error ?? null,
    volumeAttachment: attachmentsResource(volume.metadata.name, attachment),
    links: { self },
    actions: Object.fromEntries(ACTIONS.map((action) => [action, `${self}?action=${action}`])),
  };
}

/** The node that has the volume open, if there is one, and the one that it moves to, whose device waits. */
function controllersOf({ status }: Volume): ControllerResource[] {
  const { currentNodeID = "", device = "", state, frontendDisabled } = status ?? {};
  if (currentNodeID === "") return [];
  const endpoint = frontendDisabled === true ? "" : device;
  const { currentMigrationNodeID = "", migrationDevice = "" } = status ?? {};
  const target = { hostId: currentMigrationNodeID, endpoint: migrationDevice, running: false };
  const running = { hostId: currentNodeID, endpoint, running: state === "attached" };
  return currentMigrationNodeID === "" ? [running] : [running, target];
}

/** `satisfied` counts only for the ticket as it is now, here as everywhere. */
export function attachmentsResource(
  volume: string,
  attachment: VolumeAttachment | undefined,
): AttachmentsResource {
  const tickets = attachment === undefined ? [] : ticketsOf(attachment);
  const entries = tickets.map((ticket) => [ticket.id, ticketResource(ticket, attachment)]);
  return { volume, attachments: Object.fromEntries(entries) };
}

/** Without the attachment only what the ticket itself has. */
export function ticketResource(
  ticket: AttachmentTicket,
  attachment: VolumeAttachment | undefined,
): TicketResource {
  const status = attachment === undefined ? undefined : ticketStatus(attachment, ticket.id);
  const result = { satisfied: status?.satisfied === true, conditions: status?.conditions ?? [] };
  return {
    attachmentID: ticket.id,
    attachmentType: ticket.type,
    nodeID: ticket.nodeID,
    parameters: ticket.parameters ?? {},
    ...(attachment === undefined ? {} : result),
    ...defined({ owner: ticket.owner, createdAt: ticket.createdAt, expiresAt: ticket.expiresAt }),
  };
}
