import { type CallContext, CsiError, type v1 } from "@mooring/csi";
import {
  ATTACHER_RULES,
  getAttachment,
  isServed,
  type Volume,
  type VolumeAttachment,
  VolumeAttachments,
  Volumes,
} from "@mooring/engine";
import { delay, failpoint, isConflict, isNotFound } from "@mooring/store";
import type { DriverContext } from "../context.ts";
import { findVolume } from "../objects/find.ts";
import { requireNoGroup } from "../objects/group-protection.ts";
import { requireUnmounted } from "../objects/require-unmounted.ts";
import { waitUntil } from "../wait.ts";

const RETRY_MS = 5;

const marked = failpoint("driver/delete-volume/volume-marked");

/**
 * DeleteVolume. Returns only when image and object are gone. An id that this driver never gave out names nothing, so
 * there is nothing to delete. A member of a volume group goes with its group, not alone.
 */
export async function deleteVolume(
  driver: DriverContext,
  { volumeId }: v1.DeleteVolumeRequest,
  { signal }: CallContext,
) {
  await remove(driver, { name: volumeId }, requireNoGroup, signal);
  return {};
}

/** The same for this one volume, whatever group it is in. */
export function removeVolume(
  driver: DriverContext,
  { metadata: { name, uid = "" } }: Volume,
  signal: AbortSignal,
): Promise<void> {
  return remove(driver, { name, uid }, async () => {}, signal);
}

type Require = (driver: DriverContext, volume: Volume, signal: AbortSignal) => Promise<void>;

/** Without a uid: the volume that has the name now. Never one that is made with this name later. */
async function remove(
  driver: DriverContext,
  { name, uid }: { name: string; uid?: string },
  require: Require,
  signal: AbortSignal,
): Promise<void> {
  let wanted = uid;
  for (;;) {
    const volume = await findVolume(driver.store, name, signal);
    wanted ??= volume?.metadata.uid;
    if (volume === undefined || volume.metadata.uid !== wanted) return;
    if (volume.metadata.deletionTimestamp === undefined) {
      await require(driver, volume, signal);
      if (await requireUnused(driver, volume, signal)) {
        await untilJobsEnd(driver, volume, signal);
        continue;
      }
      if (!(await mark(driver, volume, signal))) {
        // The write that came first may not be readable yet; without a backoff it never would be.
        await delay(RETRY_MS, signal);
        continue;
      }
      marked();
    }
    await untilGone(driver, volume, signal);
  }
}

/**
 * Resolves when no pod and no job uses the volume: jobs of ours end by themselves. Throws FAILED_PRECONDITION when others
 * do.
 */
export async function untilUnused(
  driver: DriverContext,
  volumeId: string,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const volume = await findVolume(driver.store, volumeId, signal);
    if (volume === undefined || !(await requireUnused(driver, volume, signal))) return;
    await untilJobsEnd(driver, volume, signal);
  }
}

/** Throws when a workload has the volume, or a copy needs it. True: only a job of ours has it, which ends by itself. */
async function requireUnused(driver: DriverContext, volume: Volume, signal: AbortSignal): Promise<boolean> {
  const { name } = volume.metadata;
  const attachment = await getAttachment(driver.store, name, signal);
  const tickets = Object.values(attachment?.spec.attachmentTickets ?? {});
  const holders = tickets.map((ticket) => ticket.nodeID);
  const { currentNodeID = "", currentMigrationNodeID = "" } = volume.status ?? {};
  const nodes = new Set([...holders, volume.spec.nodeID ?? "", currentNodeID, currentMigrationNodeID]);
  nodes.delete("");
  const workloads = tickets.filter(({ type }) => ATTACHER_RULES[type].workload);
  const left = workloads.every(({ type }) => type === "share-manager-controller");
  if (nodes.size > 0 && isServed(volume) && !isHidden(volume) && left) {
    await untilShareEnds(driver, volume, signal);
    return true;
  }
  const job = isHidden(volume) && workloads.length === 0;
  if (nodes.size > 0 && !job) {
    // Unpublished, but not unstaged.
    await requireUnmounted(driver, name, signal);
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
  return nodes.size > 0;
}

/** No workload can have the volume open: no ticket has the volume, or only that of a job. */
function isHidden({ spec, status }: Volume): boolean {
  const { state, currentNodeID = "", frontendDisabled = false } = status ?? {};
  if (state === "detached" && currentNodeID === "")
    return (spec.nodeID ?? "") === "" || spec.disableFrontend === true;
  return currentNodeID === "" ? spec.disableFrontend === true : frontendDisabled;
}

/** Waits until the node that served the volume has closed it, when the last workload has left a moment ago. */
async function untilShareEnds(
  driver: DriverContext,
  { metadata }: Volume,
  signal: AbortSignal,
): Promise<void> {
  const { name, uid } = metadata;
  await waitUntil(
    driver.store,
    { resource: Volumes, name },
    {
      what: `volume "${name}" to be served no more`,
      until: (v) => v === undefined || v.metadata.uid !== uid || isFree(v),
      describe: (v) => v?.status?.error?.message ?? v?.status?.state ?? "",
      giveUp: () => requireUnmounted(driver, name, signal),
    },
    signal,
  );
}

function isFree({ spec, status }: Volume): boolean {
  return status?.state === "detached" && (spec.nodeID ?? "") === "" && (status.currentNodeID ?? "") === "";
}

async function untilJobsEnd(driver: DriverContext, { metadata }: Volume, signal: AbortSignal): Promise<void> {
  const { name, uid } = metadata;
  await waitUntil(
    driver.store,
    { resource: Volumes, name },
    {
      what: `the jobs on volume "${name}" to end`,
      until: (v) => v === undefined || v.metadata.uid !== uid || isFree(v) || !isHidden(v),
      describe: (v) => v?.status?.error?.message ?? v?.spec.lastAttachedBy ?? "",
    },
    signal,
  );
  const tickets = (a: VolumeAttachment | undefined) => Object.values(a?.spec.attachmentTickets ?? {});
  await waitUntil(
    driver.store,
    { resource: VolumeAttachments, name },
    {
      what: `the tickets of jobs on volume "${name}" to be removed`,
      until: (a) => a === undefined || tickets(a).every(({ type }) => ATTACHER_RULES[type].workload),
      describe: (a) =>
        tickets(a)
          .map(({ id }) => id)
          .join(", "),
    },
    signal,
  );
}

/** A copy that is done stands on its own; one under way still needs its source. */
async function unfinishedCopies(
  driver: DriverContext,
  name: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const [copy] = await driver.related.copiesOf({ kind: "Volume", name }, signal);
  if (copy !== undefined) return `volume "${copy}"`;
  const [pending] = await driver.related.pendingSnapshotsOf(name, signal);
  return pending === undefined ? undefined : `snapshot "${pending}"`;
}

/** False when the volume changed since it was found to be unused: another call may just have attached it. */
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
    { resource: Volumes, name },
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
    { resource: VolumeAttachments, name },
    {
      what: `the attachment object of volume "${name}" to be removed`,
      until: (a) => a === undefined || !(a.metadata.ownerReferences ?? []).some((owner) => owner.uid === uid),
    },
    signal,
  );
}
