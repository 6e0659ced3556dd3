import { type CallContext, Code, CsiError, type v1 } from "@mooring/csi";
import {
  type AttachmentTicket,
  csiTicketId,
  deviceOn,
  editTickets,
  getAttachment,
  isServed,
  isShared,
  keptOpenOn,
  MOORING_API_VERSION,
  type Pool,
  poolNodes,
  removeTickets,
  ticketStatus,
  type Volume,
  type VolumeAttachment,
  VolumeAttachments,
  Volumes,
  withTicket,
} from "@mooring/engine";
import { failpoint, isNotFound, KubeVolumeAttachments } from "@mooring/store";
import type { DriverContext } from "../context.ts";
import { findNode, findPool, findVolume, getVolume, listObjects } from "../objects/find.ts";
import { requireNotGoing } from "../objects/group-protection.ts";
import { publishedNodes } from "../objects/published-nodes.ts";
import { requireUnmounted } from "../objects/require-unmounted.ts";
import { requireWritersNotHeld } from "../objects/writers-not-held.ts";
import {
  type Capability,
  PUBLISH_READ_ONLY,
  parseCapability,
  requireCapability,
} from "../request/capability.ts";
import { waitUntil } from "../wait.ts";
import { CAPABILITY, READ_ONLY, requireNoAccessConflict, useParameters } from "./access-conflict.ts";
import { requireFreeToMigrate } from "./migration.ts";
import { requireShareServer } from "./require-share-server.ts";
import { isRefusal, withdrawTicket } from "./withdraw-ticket.ts";

const ticketAdded = failpoint("driver/publish-volume/ticket-added");
const attached = failpoint("driver/publish-volume/attached");

/** ControllerPublishVolume: a ticket, and the arbiter's result that it is satisfied. */
export async function publishVolume(
  driver: DriverContext,
  request: v1.ControllerPublishVolumeRequest,
  { signal }: CallContext,
) {
  const { volumeId, nodeId, readonly } = request;
  const capability = parseCapability(request.volumeCapability, "volume_capability");
  const volume = await publishable(driver, request, capability, signal);
  const id = csiTicketId(volumeId, nodeId);
  const parameters = { lastAttachedBy: "csi", ...useParameters(capability, readonly) };
  const csi = csiTickets(await getAttachment(driver.store, volumeId, signal));
  const present = csi.find((ticket) => ticket.id === id);
  const requireFree = (tickets: readonly AttachmentTicket[]): void => {
    requireNoAccessConflict(tickets, request, capability);
    requireFreeToMigrate(volume, tickets, nodeId);
  };
  if (present === undefined) {
    requireFree(csi);
    if (!readonly && !capability.mode.readOnly) await requireWritersNotHeld(driver.store, volume, signal);
    await requireRoomOnNode(driver, nodeId, signal);
  } else requireSameUse(present, parameters);
  // The arbiter may have a better owner than the name of the ticket.
  const owner = present?.owner ?? (await ownerOf(driver, volume, id, signal));
  const ticket = { id, type: "csi-attacher" as const, nodeID: nodeId, parameters, owner };
  await editTickets(driver.store, volumeId, signal, (attachment) => {
    // Once more, as of the very write: another controller may have published it meanwhile.
    if (present === undefined) requireFree(csiTickets(attachment));
    return withTicket(attachment, ticket, driver.host.clock.now());
  }).catch((error: unknown) => {
    throw isNotFound(error) ? CsiError.notFound(`volume "${volumeId}" is being deleted`) : error;
  });
  ticketAdded();
  await requireNotGoing(driver, volumeId, signal).catch(async (error: unknown) => {
    // The deletion was decided before there was a ticket: no workload counts on this one. After any other failure nothing is
    // known, and a ticket of an earlier call may be that of a workload that runs.
    const going = error instanceof CsiError && error.code === Code.NOT_FOUND;
    if (present === undefined && going) {
      await removeTickets(driver.store, volumeId, (ticket) => ticket.id === id, signal);
    }
    throw error;
  });
  try {
    await untilSatisfied(driver, volumeId, { nodeId, ticketId: id }, signal);
  } catch (error) {
    // A ticket of an earlier call may be that of a publication that returned.
    if (present === undefined && isRefusal(error)) await withdrawTicket(driver.store, volumeId, id, signal);
    throw error;
  }
  if (!isServed(volume)) await untilAttached(driver, volumeId, nodeId, signal);
  attached();
  return { publishContext: readonly ? { [PUBLISH_READ_ONLY]: "true" } : {} };
}

/** The volume, when it, the node and the capability go together. */
async function publishable(
  driver: DriverContext,
  { volumeId, nodeId }: v1.ControllerPublishVolumeRequest,
  capability: Capability,
  signal: AbortSignal,
): Promise<Volume> {
  const volume = await getVolume(driver.store, volumeId, signal);
  if (volume.metadata.deletionTimestamp !== undefined) {
    throw CsiError.notFound(`volume "${volumeId}" is being deleted`);
  }
  await requireNotGoing(driver, volumeId, signal);
  if ((await findNode(driver.store, nodeId, signal)) === undefined) {
    throw CsiError.notFound(`node "${nodeId}" does not exist`);
  }
  requireCapability(volume, capability);
  // Whichever node serves the volume, every other one reaches it over the network.
  if (!isServed(volume)) await requireReachable(driver, volume, nodeId, signal);
  return volume;
}

function csiTickets(attachment: VolumeAttachment | undefined): AttachmentTicket[] {
  const tickets = Object.entries(attachment?.spec.attachmentTickets ?? {});
  return tickets.map(([id, ticket]) => ({ ...ticket, id })).filter(({ type }) => type === "csi-attacher");
}

/** Where there is Kubernetes, its attachment object has the ticket's name; else the ticket dies with the volume. */
async function ownerOf(
  { store }: DriverContext,
  volume: Volume,
  ticketId: string,
  signal: AbortSignal,
): Promise<NonNullable<AttachmentTicket["owner"]>> {
  try {
    const { apiVersion, kind, metadata } = await store.get(KubeVolumeAttachments, { name: ticketId }, signal);
    return { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? "" };
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const { name, uid = "" } = volume.metadata;
    return { apiVersion: MOORING_API_VERSION, kind: "Volume", name, uid };
  }
}

async function requireReachable(
  driver: DriverContext,
  volume: Volume,
  nodeId: string,
  signal: AbortSignal,
): Promise<void> {
  const pool = await findPool(driver.store, volume.spec.pool, signal);
  if (pool !== undefined && isShared(pool)) return requireShare(pool, nodeId);
  const home = pool?.spec.nodeID ?? volume.status?.ownerID ?? nodeId;
  if (home === nodeId) return;
  throw CsiError.failedPrecondition(
    `volume "${volume.metadata.name}" lives on node "${home}" and cannot be reached from "${nodeId}"`,
    {
      hint: "Run the workload on that node, or clone the volume's data over the network.",
    },
  );
}

function requireShare(pool: Pool, nodeId: string): void {
  const nodes = poolNodes(pool);
  if (nodes.includes(nodeId)) return;
  throw CsiError.failedPrecondition(
    `node "${nodeId}" does not have the shared pool "${pool.metadata.name}" open`,
    { hint: `Use one of its nodes (${nodes.join(", ")}), or start the node with this pool.` },
  );
}

function requireSameUse(present: AttachmentTicket, parameters: Record<string, string>): void {
  for (const key of [READ_ONLY, CAPABILITY]) {
    // A ticket that was restored from Kubernetes' own record does not record what it was published as.
    if ((present.parameters?.[key] ?? parameters[key]) === parameters[key]) continue;
    const field = key === READ_ONLY ? "readonly" : "volume_capability";
    throw CsiError.alreadyExists(
      `the volume is published to node "${present.nodeID}" with another ${field}`,
      {
        hint: "Unpublish it from that node first.",
      },
    );
  }
}

/** The distance from the node's limit: more publications than can be under way at once. */
const MARGIN = 100;

async function requireRoomOnNode(driver: DriverContext, nodeId: string, signal: AbortSignal): Promise<void> {
  // What is known already is enough far below the limit; near it, every volume is read.
  const known = (await driver.related.publishedTo(nodeId, signal)).length;
  if (known + MARGIN < driver.maxVolumesPerNode) return;
  const attachments = await listObjects(driver.store, VolumeAttachments, signal);
  const published = attachments.filter((a) => publishedNodes(a).includes(nodeId)).length;
  if (published < driver.maxVolumesPerNode) return;
  throw CsiError.resourceExhausted(
    `node "${nodeId}" has its maximum of ${driver.maxVolumesPerNode} volumes`,
    {
      hint: "Unpublish a volume from it, use another node, or start the driver with a larger --max-volumes.",
    },
  );
}

async function untilSatisfied(
  driver: DriverContext,
  volumeId: string,
  { nodeId, ticketId }: { nodeId: string; ticketId: string },
  signal: AbortSignal,
): Promise<void> {
  const result = (attachment: VolumeAttachment | undefined) =>
    attachment === undefined ? undefined : ticketStatus(attachment, ticketId);
  const attachment = await waitUntil(
    driver.store,
    { resource: VolumeAttachments, name: volumeId },
    {
      what: `volume "${volumeId}" to be attached to node "${nodeId}"`,
      until: (a) => result(a)?.satisfied === true || a?.spec.attachmentTickets?.[ticketId] === undefined,
      describe: (a) => result(a)?.conditions[0]?.message ?? "the arbiter has not evaluated it yet",
      giveUp: async () => {
        const present = await findVolume(driver.store, volumeId, signal);
        // Who uses it on this very node, from before, keeps others away from it, not this ticket.
        if (present === undefined || keptOpenOn(present) !== nodeId)
          await requireUnmounted(driver, volumeId, signal);
        await requireShareServer(driver, { volumeId, nodeId }, signal);
      },
    },
    signal,
  );
  if (result(attachment)?.satisfied !== true) {
    throw CsiError.aborted(`volume "${volumeId}" was unpublished from node "${nodeId}" meanwhile`);
  }
}

/** The ticket's result may be older than the volume's: only both together mean that the device is there. */
async function untilAttached(
  driver: DriverContext,
  volumeId: string,
  nodeId: string,
  signal: AbortSignal,
): Promise<void> {
  await waitUntil(
    driver.store,
    { resource: Volumes, name: volumeId },
    {
      what: `volume "${volumeId}" to be attached to node "${nodeId}"`,
      until: (v) => v === undefined || deviceOn(v, nodeId) !== undefined,
      describe: (v) => v?.status?.error?.message ?? v?.status?.state ?? "",
    },
    signal,
  );
}
