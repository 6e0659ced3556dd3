import { isNotFound, type KubeObject, type ObjectStore, type Resource } from "@mooring/store";
import type { AttachmentTicket } from "../api/attachment.ts";
import { MOORING_API_VERSION } from "../api/names.ts";
import { Snapshots } from "../api/snapshot.ts";
import { Volumes } from "../api/volume.ts";

/** Kinds whose objects may own a ticket. */
const OWNER_KINDS: Readonly<Record<string, Resource<KubeObject>>> = {
  [`${MOORING_API_VERSION}/Volume`]: Volumes,
  [`${MOORING_API_VERSION}/Snapshot`]: Snapshots,
};

/**
 * Ids of the tickets whose owner does not exist any more, or exists again as another object. An owner of a kind that
 * is not in the table counts as alive: a ticket is never taken away for lack of knowledge.
 */
export async function findOwnersGone(
  store: ObjectStore,
  tickets: readonly AttachmentTicket[],
  signal: AbortSignal,
): Promise<Set<string>> {
  const gone = new Set<string>();
  for (const { id, owner } of tickets) {
    const resource = owner === undefined ? undefined : OWNER_KINDS[`${owner.apiVersion}/${owner.kind}`];
    if (owner === undefined || resource === undefined) continue;
    try {
      const object = await store.get(resource, { name: owner.name }, signal);
      if (owner.uid !== undefined && object.metadata.uid !== owner.uid) gone.add(id);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      gone.add(id);
    }
  }
  return gone;
}
