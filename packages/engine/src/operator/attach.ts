import { defined, isNotFound, type ObjectStore } from "@mooring/store";
import type { AttachmentTicket, VolumeAttachment } from "../api/attachment.ts";
import { NodeAgents } from "../api/node-agent.ts";
import { Pools, poolNodes } from "../api/pool.ts";
import { type Volume, Volumes } from "../api/volume.ts";
import { EngineError } from "../errors.ts";
import { yieldsToWorkload } from "../tickets/attacher-types.ts";
import { parametersFit } from "../tickets/frontend.ts";
import { nameOf } from "../tickets/summary.ts";
import { OPERATOR_TICKET } from "../tickets/ticket-id.ts";
import { editTickets, type TicketRequest, withTicket } from "../tickets/tickets.ts";
import { ticketsOf } from "../tickets/tickets-of.ts";
import { BlockedByTickets } from "./blocked.ts";
import { type AttachRequest, checkCaller, checkExpiry, checkId } from "./request.ts";

/**
 * Writes an operator's ticket; the arbiter does the rest. The same request again changes nothing; with another expiry it
 * changes that. Throws INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED (another holder's ticket) or FAILED_PRECONDITION (not
 * there, or not now; with the tickets that are in the way).
 */
export async function attachVolume(
  store: ObjectStore,
  request: AttachRequest,
  now: Date,
  signal?: AbortSignal,
): Promise<AttachmentTicket> {
  const ticket = ticketFrom(request, now);
  const volume = await findVolume(store, request.volume, signal);
  await requireNode(store, volume, request, signal);
  requireWhole(volume);
  return editTickets(store, request.volume, signal, (attachment) => {
    requireOwn(attachment, ticket);
    requireNotShared(volume, attachment);
    if (request.queue !== true) requireFree(attachment, ticket);
    return withTicket(attachment, ticket, now);
  }).catch((error: unknown) => {
    throw isNotFound(error) ? noVolume(request.volume) : error;
  });
}

function ticketFrom(request: AttachRequest, now: Date): TicketRequest {
  const expiresAt = checkExpiry(request.expiresAt, now);
  return {
    id: checkId(request.attachmentID || OPERATOR_TICKET, "ticket id"),
    type: "longhorn-api",
    nodeID: checkId(request.hostId, "node id"),
    parameters: {
      disableFrontend: String(request.disableFrontend === true),
      lastAttachedBy: checkCaller(request.attachedBy),
    },
    ...defined({ expiresAt: expiresAt?.toISOString() }),
  };
}

/** Throws NOT_FOUND. */
export async function findVolume(store: ObjectStore, name: string, signal?: AbortSignal): Promise<Volume> {
  try {
    return await store.get(Volumes, { name }, signal);
  } catch (error) {
    throw isNotFound(error) ? noVolume(name) : error;
  }
}

function noVolume(name: string): EngineError {
  return new EngineError("NOT_FOUND", `volume "${name}" does not exist`, {
    hint: "`mooring volume list` names those that do.",
  });
}

async function requireNode(
  store: ObjectStore,
  volume: Volume,
  { hostId, queue }: AttachRequest,
  signal: AbortSignal | undefined,
): Promise<void> {
  const node = await store.get(NodeAgents, { name: hostId }, signal).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    throw new EngineError("NOT_FOUND", `node "${hostId}" does not exist`, {
      hint: "`kubectl get nodeagents` names those that do.",
    });
  });
  const state = node.status?.state ?? "not ready yet";
  if (state !== "Ready" && queue !== true) {
    throw new EngineError("FAILED_PRECONDITION", `node "${hostId}" is ${state}`, {
      hint: "Choose a node that is Ready, or wait in the queue.",
      wayOut: "queue",
    });
  }
  const homes = await homesOf(store, volume, signal);
  if (homes.length > 0 && !homes.includes(hostId)) {
    const [where, hint] = [homes.map((home) => `"${home}"`).join(" or "), "Attach it there."];
    throw new EngineError(
      "FAILED_PRECONDITION",
      `the data of volume "${volume.metadata.name}" can be reached from node ${where}, not from "${hostId}"`,
      { hint },
    );
  }
}

/** The nodes that can reach the data; empty when that is not known yet. */
async function homesOf(
  store: ObjectStore,
  { spec, status }: Volume,
  signal?: AbortSignal,
): Promise<string[]> {
  try {
    return poolNodes(await store.get(Pools, { name: spec.pool }, signal));
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return [status?.ownerID ?? ""].filter((nodeID) => nodeID !== "");
  }
}

function requireWhole({ metadata, status }: Volume): void {
  const { name } = metadata;
  if (metadata.deletionTimestamp !== undefined) {
    throw new EngineError("FAILED_PRECONDITION", `volume "${name}" is being deleted`);
  }
  if (status?.robustness === "faulted") {
    const why = status.error?.message ?? "its data are damaged";
    throw new EngineError("FAILED_PRECONDITION", `volume "${name}" is faulted: ${why}`, {
      hint: `\`mooring why volume/${name}\` shows more.`,
    });
  }
}

/** A ticket belongs to the operator who made it: two who chose the same id do not take it from each other. */
function requireOwn(attachment: VolumeAttachment, wish: TicketRequest): void {
  const present = attachment.spec.attachmentTickets?.[wish.id];
  if (present === undefined) return;
  if (present.type !== "longhorn-api") {
    throw new EngineError("PERMISSION_DENIED", `ticket "${wish.id}" belongs to ${present.type}`, {
      hint: "Use another ticket id.",
    });
  }
  const holder = nameOf(present);
  if (holder !== wish.parameters?.lastAttachedBy) {
    const until = present.expiresAt === undefined ? "until it is given back" : `until ${present.expiresAt}`;
    throw new BlockedByTickets(
      `ticket "${wish.id}" is held by ${holder} ${until}`,
      [present],
      `Ask ${holder} to detach, or use another ticket id.`,
    );
  }
  if (present.nodeID !== wish.nodeID) {
    throw new BlockedByTickets(
      `ticket "${wish.id}" has the volume on node "${present.nodeID}"`,
      [present],
      "Detach it there first.",
    );
  }
}

/** The share manager decides where a shared volume is; a plain attach beside it would do nothing. */
function requireNotShared({ spec, metadata }: Volume, attachment: VolumeAttachment): void {
  const many = spec.accessMode === "rwx" || spec.accessMode === "rox";
  if (!many || spec.migratable === true) return;
  const sharing = ticketsOf(attachment).filter(
    ({ type }) => type === "csi-attacher" || type === "share-manager-controller",
  );
  if (sharing.length === 0) return;
  throw new BlockedByTickets(
    `volume "${metadata.name}" is shared by workloads`,
    sharing,
    "Mount it through its claim, or attach it when no workload uses it.",
  );
}

function requireFree(attachment: VolumeAttachment, wish: TicketRequest): void {
  const disableFrontend = wish.parameters?.disableFrontend === "true";
  const against = ticketsOf(attachment).filter(
    (t) =>
      t.id !== wish.id &&
      !yieldsToWorkload(t) &&
      (t.nodeID !== wish.nodeID || !parametersFit(t, disableFrontend)),
  );
  if (against.length === 0) return;
  throw new BlockedByTickets(
    `the volume is wanted otherwise`,
    against,
    "Wait until they end, or ask to wait in the queue.",
    "queue",
  );
}
