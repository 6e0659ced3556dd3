import {
  type CSIStorageCapacity,
  labelRequirements,
  matchesLabels,
  type Node,
  type PersistentVolumeClaim,
  parseQuantity,
  type StorageClass,
} from "@mooring/store";
import { requestedBytes } from "../binder/match.ts";

/** Some published capacity of the class, reachable from the node, is enough for the claim. */
export function hasCapacity(
  capacities: readonly CSIStorageCapacity[],
  storageClass: StorageClass,
  claim: PersistentVolumeClaim,
  node: Node,
): boolean {
  const wanted = requestedBytes(claim);
  return capacities.some((each) => {
    if (each.storageClassName !== storageClass.metadata.name || each.nodeTopology === undefined) return false;
    if (!matchesLabels(labelRequirements(each.nodeTopology), node.metadata.labels ?? {})) return false;
    // The largest single volume, where the driver reports it: free space may be in pieces.
    const free = each.maximumVolumeSize ?? each.capacity;
    return free !== undefined && parseQuantity(free) >= wanted;
  });
}
