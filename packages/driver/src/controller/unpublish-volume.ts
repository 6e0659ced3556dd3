import { type CallContext, CsiError, type v1 } from "@mooring/csi";
import {
  type AttachmentTicket,
  getAttachment,
  isBetween,
  isGivenAway,
  isServed,
  keptOpenOn,
  removeTickets,
  type Volume,
  Volumes,
  wantsDevice,
} from "@mooring/engine";
import { failpoint } from "@mooring/store";
import type { DriverContext } from "../context.ts";
import { findNode, findVolume } from "../objects/find.ts";
import { publishedNodes } from "../objects/published-nodes.ts";
import { requireUnmounted } from "../objects/require-unmounted.ts";
import { waitUntil } from "../wait.ts";

const ticketsRemoved = failpoint("driver/unpublish-volume/tickets-removed");

/**
 * ControllerUnpublishVolume; an empty node id means every node. Returns when the node has no device of the volume any
 * more, unless another ticket keeps it there, or those who use it on a node whose agent responds: they may only end after
 * this call, and until then the arbiter gives the volume to no other node. A volume that does not exist is published nowhere.
 */
export async function unpublishVolume(
  driver: DriverContext,
  { volumeId, nodeId }: v1.ControllerUnpublishVolumeRequest,
  { signal, protocol }: CallContext,
) {
  const volume = await findVolume(driver.store, volumeId, signal);
  if (volume === undefined) return {};
  if (protocol === "csi.v0") await requireNode(driver, volumeId, nodeId, signal);
  const meant = (node: string) => nodeId === "" || node === nodeId;
  await removeTickets(driver.store, volumeId, (t) => t.type === "csi-attacher" && meant(t.nodeID), signal);
  ticketsRemoved();
  const attachment = await getAttachment(driver.store, volumeId, signal);
  const tickets = remaining(volume, Object.values(attachment?.spec.attachmentTickets ?? {}));
  const kept = tickets.map((ticket) => ticket.nodeID);
  const leaving = (node: string) => node !== "" && meant(node) && !kept.includes(node);
  await waitUntil(
    driver.store,
    { resource: Volumes, name: volumeId },
    {
      what: `volume "${volumeId}" to be detached`,
      until: (v) =>
        v === undefined ||
        (!isExposed(v, meant, tickets) &&
          !leaving(v.status?.currentNodeID ?? "") &&
          !leaving(v.spec.nodeID ?? "") &&
          !leaving(v.spec.migrationNodeID ?? "") &&
          !leaving(v.status?.currentMigrationNodeID ?? "") &&
          // An attach that was taken back half-way: the device may be open on a node that no field names.
          (kept.includes(nodeId) || !isBetween(v))),
      describe: (v) => v?.status?.error?.message ?? v?.status?.state ?? "",
      giveUp: () => requireUnmounted(driver, volumeId, signal),
      isDone: async () =>
        (await hasLeft(driver, volumeId, nodeId, signal)) ||
        (await isLeftToItsUsers(driver, volumeId, meant, signal)),
    },
    signal,
  );
  return {};
}

/** The source of a migration may be done long before the target is, which may be dead. */
async function hasLeft(
  { store }: DriverContext,
  volumeId: string,
  nodeId: string,
  signal: AbortSignal,
): Promise<boolean> {
  const volume = await findVolume(store, volumeId, signal);
  return volume?.status?.currentNodeID === nodeId && (await isGivenAway(store, volume, signal));
}

/**
 * A machine that was detached by force is back, and its new pod is there before the old mount was removed: the kubelet then
 * keeps the mount for the new pod, which waits for this call to return. What ends the use is not known here, so it is not
 * waited for. A node that is silent says nothing of its users: it has to come back, or be fenced.
 */
async function isLeftToItsUsers(
  { store }: DriverContext,
  volumeId: string,
  meant: (node: string) => boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const volume = await findVolume(store, volumeId, signal);
  const node = volume === undefined ? undefined : keptOpenOn(volume);
  if (node === undefined || !meant(node)) return false;
  return (await findNode(store, node, signal))?.status?.state === "Ready";
}

/** The share manager's ticket goes with the last workload's. */
function remaining(volume: Volume, tickets: AttachmentTicket[]): AttachmentTicket[] {
  const used = tickets.some(({ type }) => type === "csi-attacher");
  if (!isServed(volume) || used) return tickets;
  return tickets.filter(({ type }) => type !== "share-manager-controller");
}

/** A job may keep the volume open on the node; that is no reason to wait, once workloads cannot reach the device. */
function isExposed(
  volume: Volume,
  meant: (node: string) => boolean,
  tickets: readonly AttachmentTicket[],
): boolean {
  const { currentNodeID = "", frontendDisabled = false } = volume.status ?? {};
  if (currentNodeID === "" || !meant(currentNodeID) || frontendDisabled) return false;
  return !tickets.some((ticket) => ticket.nodeID === currentNodeID && wantsDevice(ticket));
}

/** csi.v0 wants NOT_FOUND for a node that is not known; csi.v1 takes it that nothing is published there. */
async function requireNode(
  driver: DriverContext,
  volumeId: string,
  nodeId: string,
  signal: AbortSignal,
): Promise<void> {
  if (nodeId === "" || (await findNode(driver.store, nodeId, signal)) !== undefined) return;
  // A node that has gone with the volume on it: that has to be possible to undo.
  if (publishedNodes(await getAttachment(driver.store, volumeId, signal)).includes(nodeId)) return;
  throw CsiError.notFound(`node "${nodeId}" does not exist`);
}
