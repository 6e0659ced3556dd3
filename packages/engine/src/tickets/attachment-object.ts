import { setTimeout } from "node:timers/promises";
import { defined, getIfAny, isAlreadyExists, isConflict, isNotFound, type ObjectStore } from "@mooring/store";
import { type VolumeAttachment, VolumeAttachments } from "../api/attachment.ts";
import { ARBITER_FINALIZER, IMPORT_ANNOTATION, MOORING_API_VERSION, VOLUME_LABEL } from "../api/names.ts";
import { type Volume, Volumes } from "../api/volume.ts";

/**
 * The one attachment object of a volume: same name, owned by it, no ticket yet. For a volume that is attached it records
 * so, as the object must have been lost: then the arbiter finds the users before it decides anything.
 */
export function newAttachment(volume: Volume): VolumeAttachment {
  const { name, uid = "" } = volume.metadata;
  const attached = (volume.spec.nodeID ?? "") !== "";
  return {
    apiVersion: MOORING_API_VERSION,
    kind: "VolumeAttachment",
    metadata: {
      name,
      finalizers: [ARBITER_FINALIZER],
      labels: { [VOLUME_LABEL]: name },
      ...(attached ? { annotations: { [IMPORT_ANNOTATION]: "pending" } } : {}),
      ownerReferences: [{ apiVersion: MOORING_API_VERSION, kind: "Volume", name, uid }],
    },
    spec: { volume: name, attachmentTickets: {} },
  };
}

/** False for what an earlier volume of the same name left behind. */
export function belongsTo(attachment: VolumeAttachment, volume: Volume): boolean {
  const owners = attachment.metadata.ownerReferences ?? [];
  const volumes = owners.filter(
    ({ apiVersion, kind }) => apiVersion === MOORING_API_VERSION && kind === "Volume",
  );
  return volumes.length === 0 || volumes.some((owner) => owner.uid === volume.metadata.uid);
}

/** Finds or makes the attachment object of a volume. Throws NotFound when there is no such Volume. */
export async function ensureAttachment(
  store: ObjectStore,
  volumeName: string,
  signal?: AbortSignal,
): Promise<VolumeAttachment> {
  for (;;) {
    const volume = await store.get(Volumes, { name: volumeName }, signal);
    const present = await getAttachment(store, volumeName, signal);
    if (present !== undefined && belongsTo(present, volume)) return present;
    try {
      if (present !== undefined) await releaseAttachment(store, present, signal);
      return await store.create(VolumeAttachments, newAttachment(volume), options(signal));
    } catch (error) {
      if (!isAlreadyExists(error) && !isConflict(error)) throw error;
      await retryBackoff(signal);
    }
  }
}

/** The attachment object of a volume, or undefined while the arbiter has not made it yet. */
export async function getAttachment(
  store: Pick<ObjectStore, "get">,
  volumeName: string,
  signal?: AbortSignal,
): Promise<VolumeAttachment | undefined> {
  return getIfAny(store, VolumeAttachments, { name: volumeName }, signal);
}

/** Lets an attachment object go whose volume is gone. Throws Conflict when it is not as it was read any more. */
export async function releaseAttachment(
  store: ObjectStore,
  attachment: VolumeAttachment,
  signal?: AbortSignal,
): Promise<void> {
  const { finalizers = [], deletionTimestamp, uid } = attachment.metadata;
  const key = { name: attachment.metadata.name };
  try {
    const rest = finalizers.filter((name) => name !== ARBITER_FINALIZER);
    if (rest.length < finalizers.length) {
      const metadata = { ...attachment.metadata, finalizers: rest };
      await store.update(VolumeAttachments, { ...attachment, metadata }, options(signal));
    }
    if (deletionTimestamp !== undefined) return;
    await store.delete(VolumeAttachments, key, {
      ...options(signal),
      ...(uid === undefined ? {} : { preconditions: { uid } }),
    });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/**
 * Before reading again what another writer has just changed: a store may refuse a write for the sake of one that
 * readers do not see yet, and a loop without a backoff would keep that one from finishing.
 */
export async function retryBackoff(signal: AbortSignal | undefined): Promise<void> {
  await setTimeout(2, undefined, options(signal));
}

function options(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return defined({ signal });
}
