import { isNotFound, type Lease, Leases, type ObjectStore } from "@mooring/store";
import { LEASE_NAMESPACE } from "../api/names.ts";
import type { Volume } from "../api/volume.ts";
import { isMoving } from "../tickets/migration-phase.ts";
import { handedOver, holderOf, TAKEN_FROM } from "./decide.ts";
import { leaseName } from "./lease-watch.ts";

/**
 * True when the source of a confirmed migration has closed its device and handed the lease over, though the record
 * still names it: the target writes that it has the volume last of all, and may be dead.
 */
export async function isGivenAway(store: ObjectStore, volume: Volume, signal: AbortSignal): Promise<boolean> {
  if (!isMoving(volume)) return false;
  const key = { namespace: LEASE_NAMESPACE, name: leaseName(volume.metadata.name) };
  const lease = await store.get(Leases, key, signal).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
  return lease !== undefined && isWith(lease, volume.spec.nodeID ?? "");
}

/** Meant for that node, or there already; not taken from a holder that was never seen to close it. */
function isWith(lease: Lease, nodeID: string): boolean {
  if (lease.metadata.annotations?.[TAKEN_FROM] !== undefined) return false;
  const held = (lease.spec?.holderIdentity ?? "") !== "";
  return (held ? holderOf(lease) : handedOver(lease)) === nodeID;
}
