import {
  isNotFound,
  type KubeObject,
  KubeVolumeAttachments,
  type ObjectStore,
  type Resource,
} from "@mooring/store";
import type { AttachmentTicket } from "../api/attachment.ts";
import { MOORING_API_VERSION } from "../api/names.ts";
import { Snapshots } from "../api/snapshot.ts";
import { Volumes } from "../api/volume.ts";

/** Kinds whose objects may own a ticket, by `apiVersion/kind`. Their watches wake the arbiter when one is gone. */
export const OWNER_KINDS: Readonly<Record<string, Resource<KubeObject>>> = {
  [`${MOORING_API_VERSION}/Volume`]: Volumes,
  [`${MOORING_API_VERSION}/Snapshot`]: Snapshots,
};
const KUBERNETES_KINDS: typeof OWNER_KINDS = { "storage.k8s.io/v1/VolumeAttachment": KubeVolumeAttachments };

/**
 * The tables above as the arbiter uses them. Where there is no Kubernetes, no controller can report that an object of it is
 * gone.
 */
export function ownerKinds(kubernetes: boolean): typeof OWNER_KINDS {
  return kubernetes ? { ...OWNER_KINDS, ...KUBERNETES_KINDS } : OWNER_KINDS;
}

/**
 * Ids of the tickets whose owner does not exist any more, or exists again as another object. An owner of a kind that
 * is not in the table counts as alive: a ticket is never taken away for lack of knowledge.
 */
export async function findOwnersGone(
  store: Pick<ObjectStore, "get">,
  tickets: readonly AttachmentTicket[],
  kinds: typeof OWNER_KINDS,
  signal: AbortSignal,
): Promise<Set<string>> {
  const gone = new Set<string>();
  for (const { id, owner } of tickets) {
    const resource = owner === undefined ? undefined : kinds[`${owner.apiVersion}/${owner.kind}`];
    if (owner === undefined || resource === undefined) continue;
    try {
      const { name, namespace } = owner;
      const object = await store.get(resource, { name, ...(namespace ? { namespace } : {}) }, signal);
      if (owner.uid !== undefined && object.metadata.uid !== owner.uid) gone.add(id);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      gone.add(id);
    }
  }
  return gone;
}
