import { getIfAny, type Informer, Leases, listAll } from "@mooring/store";
import { LEASE_IMAGE_LABEL, LEASE_NAMESPACE } from "../../api/names.ts";
import { type Volume, Volumes } from "../../api/volume.ts";
import type { AgentContext } from "../context.ts";

/**
 * Removes leases whose volume is gone: an agent was killed between the two, or an operator removed the record. Where
 * Kubernetes collects what has lost its owner there are none; not everything that Mooring runs on does.
 */
export async function sweepLeases(
  { sharing, store, signal }: AgentContext,
  volumes: Pick<Informer<Volume>, "get">,
): Promise<void> {
  if (sharing === undefined || sharing.pools.size === 0) return;
  const selection = { namespace: LEASE_NAMESPACE, labelSelector: LEASE_IMAGE_LABEL };
  for (const lease of (await listAll(store, Leases, { ...selection, signal })).items) {
    const image = lease.metadata.labels?.[LEASE_IMAGE_LABEL] ?? "";
    if (volumes.get(image) !== undefined) continue;
    // The cache may lag behind.
    const volume = await getIfAny(store, Volumes, { name: image }, signal);
    if (volume === undefined) await sharing.leases.sweep(image, lease, signal);
  }
}
