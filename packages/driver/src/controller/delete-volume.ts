import { type CallContext, CsiError, type v1 } from "@mooring/csi";
import { getAttachment, Snapshots, type Volume, VolumeAttachments, Volumes } from "@mooring/engine";
import { delay, failpoint, isConflict, isNotFound } from "@mooring/store";
import type { DriverContext } from "../context.ts";
import { waitUntil } from "../wait.ts";
import { findVolume, listObjects } from "./objects.ts";

const RETRY_MS = 5;

const marked = failpoint("driver/delete-volume/volume-marked");

/**
 * DeleteVolume. Answers only when image and object are gone. An id that this driver never gave out names nothing, so
 * there is nothing to delete.
 */
export async function deleteVolume(
  driver: DriverContext,
  { volumeId }: v1.DeleteVolumeRequest,
  { signal }: CallContext,
) {
  for (;;) {
    const volume = await findVolume(driver.store, volumeId, signal);
    if (volume === undefined) break;
    if (volume.metadata.deletionTimestamp === undefined) {
      await requireUnused(driver, volume, signal);
      if (!(await mark(driver, volume, signal))) {
        // The write that came first may not be readable yet; without a pause it never would be.
        await delay(RETRY_MS, signal);
        continue;
      }
      marked();
    }
    await untilGone(driver, volume, signal);
  }
  return {};
}

async function requireUnused(driver: DriverContext, volume: Volume, signal: AbortSignal): Promise<void> {
  const { name } = volume.metadata;
  const attachment = await getAttachment(driver.store, name, signal);
  const holders = Object.values(attachment?.spec.attachmentTickets ?? {}).map((ticket) => ticket.nodeID);
  const nodes = new Set([...holders, volume.spec.nodeID ?? "", volume.status?.currentNodeID ?? ""]);
  nodes.delete("");
  if (nodes.size > 0) {
    throw CsiError.failedPrecondition(`volume "${name}" is in use on node ${[...nodes].join(", ")}`, {
      hint: "Unpublish it from every node first.",
    });
  }
  const copying = await unfinishedCopies(driver, name, signal);
  if (copying !== undefined) {
    throw CsiError.failedPrecondition(`volume "${name}" is being copied to ${copying}`, {
      hint: "Try again when the copy is done.",
    });
  }
}

/** A copy that is done stands on its own; one under way still needs its source. */
async function unfinishedCopies(
  driver: DriverContext,
  name: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const volumes = await listObjects(driver.store, Volumes, signal);
  const clone = volumes.find(
    (v) => v.spec.source?.kind === "Volume" && v.spec.source.name === name && v.status?.size === undefined,
  );
  if (clone !== undefined) return `volume "${clone.metadata.name}"`;
  const snapshots = await listObjects(driver.store, Snapshots, signal);
  const cut = snapshots.find((s) => s.spec.volume === name && s.status?.creationTime === undefined);
  return cut === undefined ? undefined : `snapshot "${cut.metadata.name}"`;
}

/** False when the volume changed since it was found to be unused: somebody may just have attached it. */
async function mark(driver: DriverContext, volume: Volume, signal: AbortSignal): Promise<boolean> {
  const { name, uid = "", resourceVersion = "" } = volume.metadata;
  try {
    await driver.store.delete(Volumes, { name }, { signal, preconditions: { uid, resourceVersion } });
    return true;
  } catch (error) {
    if (isNotFound(error)) return true;
    if (isConflict(error)) return false;
    throw error;
  }
}

async function untilGone(driver: DriverContext, volume: Volume, signal: AbortSignal): Promise<void> {
  const { name, uid } = volume.metadata;
  await waitUntil(
    driver.store,
    Volumes,
    name,
    {
      what: `the data of volume "${name}" to be removed`,
      until: (v) => v === undefined || v.metadata.uid !== uid,
      describe: (v) => v?.status?.error?.message ?? v?.status?.state ?? "",
    },
    signal,
  );
  // Its attachment object goes right after it; a new volume of the same name shall not meet the old one.
  await waitUntil(
    driver.store,
    VolumeAttachments,
    name,
    {
      what: `the attachment object of volume "${name}" to be removed`,
      until: (a) => a === undefined || !(a.metadata.ownerReferences ?? []).some((owner) => owner.uid === uid),
    },
    signal,
  );
}
