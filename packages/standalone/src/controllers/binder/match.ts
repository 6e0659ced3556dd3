import {
  labelRequirements,
  matchesLabels,
  type Node,
  type PersistentVolume,
  type PersistentVolumeClaim,
  parseQuantity,
  selectsNode,
} from "@mooring/store";

/** The size that a claim asks for, in bytes; 0 when it asks for none. */
export function requestedBytes(claim: PersistentVolumeClaim): bigint {
  return parseQuantity(claim.spec?.resources?.requests?.storage ?? "0");
}

function capacityBytes(volume: PersistentVolume): bigint {
  return parseQuantity(volume.spec?.capacity?.storage ?? "0");
}

/** The volume names this claim, and no other claim of that name from before. */
export function isReservedFor(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const reference = volume.spec?.claimRef;
  if (reference === undefined) return false;
  const { name, namespace, uid } = claim.metadata;
  const sameUID = reference.uid === undefined || reference.uid === "" || reference.uid === uid;
  return reference.name === name && reference.namespace === namespace && sameUID;
}

/** Why the volume cannot serve the claim at all, as text for an event; undefined when it can. */
export function mismatch(volume: PersistentVolume, claim: PersistentVolumeClaim): string | undefined {
  if (capacityBytes(volume) < requestedBytes(claim)) return "requested PV is too small";
  if ((volume.spec?.storageClassName ?? "") !== (claim.spec?.storageClassName ?? "")) {
    return "storageClassName does not match";
  }
  if ((volume.spec?.volumeMode ?? "Filesystem") !== (claim.spec?.volumeMode ?? "Filesystem")) {
    return "incompatible volumeMode";
  }
  const offered = volume.spec?.accessModes ?? [];
  if (!(claim.spec?.accessModes ?? []).every((mode) => offered.includes(mode))) {
    return "incompatible accessMode";
  }
  return undefined;
}

/**
 * The volume to bind: one that was reserved for the claim, else the smallest free one that fits. With a node, only
 * volumes that the node can reach; without, affinity is not checked.
 */
export function findVolume(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
  node?: Node,
): PersistentVolume | undefined {
  const usable = volumes.filter(
    (volume) =>
      volume.metadata.deletionTimestamp === undefined &&
      capacityBytes(volume) >= requestedBytes(claim) &&
      (node === undefined || selectsNode(volume.spec?.nodeAffinity?.required, node)),
  );
  const reserved = usable.find((volume) => isReservedFor(volume, claim));
  if (reserved !== undefined) return reserved;
  const requirements = claim.spec?.selector === undefined ? [] : labelRequirements(claim.spec.selector);
  return usable
    .filter(
      (volume) =>
        volume.spec?.claimRef === undefined &&
        volume.status?.phase === "Available" &&
        mismatch(volume, claim) === undefined &&
        matchesLabels(requirements, volume.metadata.labels ?? {}),
    )
    .sort(bySizeThenName)[0];
}

function bySizeThenName(a: PersistentVolume, b: PersistentVolume): number {
  const difference = capacityBytes(a) - capacityBytes(b);
  if (difference !== 0n) return difference < 0n ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}
