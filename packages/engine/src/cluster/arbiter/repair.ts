import { defined } from "@mooring/store";
import type { AttachmentTicket, VolumeAttachment } from "../../api/attachment.ts";
import { ARBITER_FINALIZER, IMPORT_ANNOTATION, MOORING_API_VERSION, VOLUME_LABEL } from "../../api/names.ts";
import { isServed } from "../../api/volume.ts";
import {
  csiTicketId,
  isOwnedByKubernetes,
  type KubernetesClaim,
  ownerOf,
} from "../../tickets/kubernetes-claim.ts";
import { SHARE_TYPE, shareTicket } from "../../tickets/share-ticket.ts";
import { OPERATOR_TICKET } from "../../tickets/ticket-id.ts";
import { ticketsOf } from "../../tickets/tickets-of.ts";
import { type ArbiterView, placementOf, type Repair } from "./view.ts";

/**
 * Finds what was lost: tickets of volumes that Kubernetes has attached, the user of an attached volume whose object
 * had to be made again, the ticket of the node that serves a volume to others, and the marks that protect the object.
 * Pure.
 */
export function repair(view: ArbiterView): Repair {
  const add: Repair["add"] = {};
  if (view.volume.metadata.deletionTimestamp === undefined) {
    for (const ticket of [...lostCsiTickets(view), ...ticketOfLostUser(view)]) add[ticket.id] ??= ticket;
  }
  // Also of a volume that is being deleted: that waits for those who use it.
  for (const ticket of lostServer(view, Object.values(add))) add[ticket.id] ??= ticket;
  const metadata = repairedMetadata(view);
  return { add, own: rightOwners(view), ...defined({ metadata }) };
}

/** True when nothing has to be repaired. */
export function isWhole({ add, own, metadata }: Repair): boolean {
  return metadata === undefined && Object.keys(add).length === 0 && Object.keys(own).length === 0;
}

/** Kubernetes has reported to a node that the device is there: the device stays, also when the ticket was taken away. */
function lostCsiTickets(view: ArbiterView): AttachmentTicket[] {
  const listed = csiNodes(view.attachment);
  // What is on its way to a node goes on as well when the object was lost.
  const moving = awaitsImport(view.attachment) ? placementOf(view.volume).nodeID : "";
  const lost = (view.claims ?? []).filter(
    ({ attached, deleting, nodeID }) => (attached || nodeID === moving) && !deleting && !listed.has(nodeID),
  );
  return lost.map((claim) => csiTicket(view, claim.nodeID, ownerOf(claim)));
}

function csiTicket(
  { volume, attachment, now }: ArbiterView,
  nodeID: string,
  owner: NonNullable<AttachmentTicket["owner"]>,
): AttachmentTicket {
  return {
    id: csiTicketId(volume.metadata.name, nodeID),
    type: "csi-attacher",
    nodeID,
    parameters: { lastAttachedBy: "csi" },
    generation: (attachment.metadata.generation ?? 0) + 1,
    owner,
    createdAt: now.toISOString(),
  };
}

/**
 * A volume that is on a node while its attachment object never had a ticket: the object was lost, or comes from a
 * version that had none. The node that had the volume keeps it.
 */
function ticketOfLostUser(view: ArbiterView): AttachmentTicket[] {
  const { volume, attachment, claims, now } = view;
  const { nodeID, disableFrontend, lastAttachedBy } = placementOf(volume);
  if (nodeID === "" || !awaitsImport(attachment)) return [];
  if (lastAttachedBy === "") {
    // A job's own: its service writes the ticket again. An operator's would never end.
    if (disableFrontend) return [];
    // Its users' tickets keep no device open, and the share's plan forgets the node while it sees none of them.
    if (isServed(volume)) return serverTicket(view, nodeID);
  }
  const known = ticketsOf(attachment).some((t) => t.nodeID === nodeID);
  if (known || (claims ?? []).some((claim) => claim.nodeID === nodeID)) return [];
  if (lastAttachedBy === "csi") {
    const { name, uid = "" } = volume.metadata;
    const owner = { apiVersion: MOORING_API_VERSION, kind: "Volume", name, uid };
    // Where Kubernetes is, it would have recorded it: then no workload wants the volume any more.
    return claims === undefined ? [csiTicket(view, nodeID, owner)] : [];
  }
  return [
    {
      id: OPERATOR_TICKET,
      type: "longhorn-api",
      nodeID,
      parameters: { disableFrontend: String(disableFrontend), lastAttachedBy: lastAttachedBy || "import" },
      generation: (attachment.metadata.generation ?? 0) + 1,
      createdAt: now.toISOString(),
    },
  ];
}

/**
 * Workloads' own tickets keep no served volume attached: without its share manager's the device would be closed under all of
 * them. Who ends a share on purpose records it in its ShareManager first.
 */
function lostServer(view: ArbiterView, restored: readonly AttachmentTicket[]): AttachmentTicket[] {
  const { volume, attachment, share } = view;
  const { nodeID } = placementOf(volume);
  if (!isServed(volume) || nodeID === "" || share?.spec.nodeID !== nodeID) return [];
  const tickets = [...ticketsOf(attachment), ...restored];
  const used = tickets.some((t) => t.type === "csi-attacher" && !endsNow(view, t));
  return used ? serverTicket(view, nodeID) : [];
}

function serverTicket({ volume, attachment, now }: ArbiterView, nodeID: string): AttachmentTicket[] {
  if (ticketsOf(attachment).some(({ type }) => type === SHARE_TYPE)) return [];
  const generation = (attachment.metadata.generation ?? 0) + 1;
  return [{ ...shareTicket(volume, nodeID), generation, createdAt: now.toISOString() }];
}

/** It ends in this very decision. */
function endsNow({ ownersGone, now }: ArbiterView, { id, expiresAt = "" }: AttachmentTicket): boolean {
  return ownersGone.has(id) || Date.parse(expiresAt) <= now.getTime();
}

/** Made for a volume that was attached already, or never edited since it was made. */
function awaitsImport({ metadata, spec, status }: VolumeAttachment): boolean {
  if (metadata.annotations?.[IMPORT_ANNOTATION] !== undefined) return true;
  const tickets = Object.keys(spec.attachmentTickets ?? {}).length;
  return tickets === 0 && (metadata.generation ?? 1) <= 1 && status?.generationCounter === undefined;
}

/** A CSI ticket belongs to the Kubernetes attachment of its node, also when that was made again. */
function rightOwners(view: ArbiterView): Repair["own"] {
  const own: Repair["own"] = {};
  for (const ticket of ticketsOf(view.attachment)) {
    if (ticket.type !== "csi-attacher") continue;
    const claim = claimOn(view.claims, ticket.nodeID);
    if (claim === undefined || claim.deleting) continue;
    if (!isOwnedByKubernetes(ticket) || ticket.owner?.uid !== claim.uid) own[ticket.id] = ownerOf(claim);
  }
  return own;
}

function claimOn(
  claims: readonly KubernetesClaim[] | undefined,
  nodeID: string,
): KubernetesClaim | undefined {
  const here = (claims ?? []).filter((claim) => claim.nodeID === nodeID);
  return here.find(({ deleting }) => !deleting) ?? here[0];
}

function csiNodes(attachment: VolumeAttachment): Set<string> {
  const csi = ticketsOf(attachment).filter(({ type }) => type === "csi-attacher");
  return new Set(csi.map(({ nodeID }) => nodeID));
}

/** Finalizer, label and owner as the object was made with; an operator may have taken them away. */
function repairedMetadata({ volume, attachment }: ArbiterView): VolumeAttachment["metadata"] | undefined {
  const { metadata } = attachment;
  const { name, uid = "" } = volume.metadata;
  const { finalizers = [], labels = {}, ownerReferences = [], annotations = {} } = metadata;
  const complete = metadata.deletionTimestamp !== undefined || finalizers.includes(ARBITER_FINALIZER);
  const owned = ownerReferences.some((owner) => owner.uid === uid);
  const imported = annotations[IMPORT_ANNOTATION] === undefined;
  if (complete && owned && imported && labels[VOLUME_LABEL] === name) return undefined;
  const { [IMPORT_ANNOTATION]: _, ...rest } = annotations;
  const owner = { apiVersion: MOORING_API_VERSION, kind: "Volume", name, uid };
  return {
    ...metadata,
    finalizers: complete ? finalizers : [...finalizers, ARBITER_FINALIZER],
    labels: { ...labels, [VOLUME_LABEL]: name },
    ownerReferences: owned ? ownerReferences : [...ownerReferences, owner],
    ...(imported ? {} : { annotations: rest }),
  };
}
