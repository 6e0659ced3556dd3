import type { CallContext, v1 } from "@mooring/csi";
import { getAttachment, removeTickets, Volumes } from "@mooring/engine";
import { failpoint } from "@mooring/store";
import type { DriverContext } from "../context.ts";
import { waitUntil } from "../wait.ts";
import { findVolume } from "./objects.ts";

const ticketsRemoved = failpoint("driver/unpublish-volume/tickets-removed");

/**
 * ControllerUnpublishVolume; an empty node id means every node. Answers when the node has no device of the volume any
 * more, unless another ticket keeps it there. A volume that does not exist is published nowhere.
 */
export async function unpublishVolume(
  driver: DriverContext,
  { volumeId, nodeId }: v1.ControllerUnpublishVolumeRequest,
  { signal }: CallContext,
) {
  if ((await findVolume(driver.store, volumeId, signal)) === undefined) return {};
  const meant = (node: string) => nodeId === "" || node === nodeId;
  await removeTickets(driver.store, volumeId, (t) => t.type === "csi-attacher" && meant(t.nodeID), signal);
  ticketsRemoved();
  const attachment = await getAttachment(driver.store, volumeId, signal);
  const kept = Object.values(attachment?.spec.attachmentTickets ?? {}).map((ticket) => ticket.nodeID);
  const leaving = (node: string) => node !== "" && meant(node) && !kept.includes(node);
  await waitUntil(
    driver.store,
    Volumes,
    volumeId,
    {
      what: `volume "${volumeId}" to be detached`,
      until: (v) =>
        v === undefined || (!leaving(v.status?.currentNodeID ?? "") && !leaving(v.spec.nodeID ?? "")),
      describe: (v) => v?.status?.error?.message ?? v?.status?.state ?? "",
    },
    signal,
  );
  return {};
}
