import { getIfAny, isConflict, isNotFound, type Lease, Leases, type ObjectStore } from "@mooring/store";
import { LEASE_IMAGE_LABEL, LEASE_NAMESPACE } from "../../api/names.ts";
import { type Volume, type VolumeStatus, Volumes } from "../../api/volume.ts";
import { isShutOut } from "../../leases/decide.ts";
import { leaseName } from "../../leases/lease-watch.ts";
import { isMoving } from "../../tickets/migration-phase.ts";

/**
 * Records, for a lost node that has other images still, that it has those no more which its cluster has shut it out of: what its agent
 * would record when it has closed them. So others get them, and the node keeps the rest.
 */
export async function releaseImages(
  store: ObjectStore,
  nodeID: string,
  leases: readonly Lease[],
  signal: AbortSignal,
): Promise<void> {
  for (const lease of leases) {
    if (!isShutOut(lease, nodeID)) continue;
    const image = lease.metadata.labels?.[LEASE_IMAGE_LABEL] ?? "";
    const volume = await getIfAny(store, Volumes, { name: image }, signal);
    const status = volume === undefined ? undefined : statusWithout(volume, nodeID);
    if (volume === undefined || status === undefined) continue;
    // After the volume: a node that is back takes its lease before it writes a record.
    const key = { namespace: LEASE_NAMESPACE, name: leaseName(image) };
    const present = await getIfAny(store, Leases, key, signal);
    if (present === undefined || !isShutOut(present, nodeID)) continue;
    await store.updateStatus(Volumes, { ...volume, status }, { signal }).catch((error: unknown) => {
      // Another writer was faster: the next round reads what it wrote.
      if (!isConflict(error) && !isNotFound(error)) throw error;
    });
  }
}

/**
 * The volume's record when that node has closed it; undefined: the node has nothing of it, or it is being handed over, which its
 * target ends. Pure.
 */
export function statusWithout(volume: Volume, nodeID: string): VolumeStatus | undefined {
  if (volume.status?.ownerID !== nodeID || isMoving(volume)) return undefined;
  const { currentNodeID: _node, device: _device, frontendDisabled: _hidden, ...kept } = volume.status;
  const { state, robustness, error, ...rest } = kept;
  const isOpen = state !== "creating" && state !== "deleting";
  const next = { ...rest, state: isOpen ? ("detached" as const) : state, ownerID: "" };
  if (robustness !== "faulted") return { ...next, robustness: "unknown" };
  return error === undefined ? { ...next, robustness } : { ...next, robustness, error };
}
