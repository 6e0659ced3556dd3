import { isDeepStrictEqual } from "node:util";
import {
  defined,
  ownerReferenceTo,
  type PersistentVolumeClaim,
  type Pod,
  type StatefulSet,
} from "@mooring/store";

type OwnerReferences = NonNullable<PersistentVolumeClaim["metadata"]["ownerReferences"]>;

/** One of a set's claims, as it is. */
export interface SetClaim {
  claim: PersistentVolumeClaim;
  ordinal: number;
}

export type ClaimStep =
  | { do: "set-claim-owners"; claim: PersistentVolumeClaim; owners: OwnerReferences }
  /** Has it ask for another size. */
  | { do: "size-claim"; claim: PersistentVolumeClaim; storage: string };

/**
 * Gives a claim the owners that the retention policy wants: the set (it goes with the set), or its pod that is about to go
 * for good (it goes with that). Both without being their controller, and without keeping them from going.
 */
export function ownClaim(
  set: StatefulSet,
  { claim }: SetClaim,
  leaving: Pod | undefined,
): ClaimStep | undefined {
  const { whenDeleted = "Retain", whenScaled = "Retain" } =
    set.spec?.persistentVolumeClaimRetentionPolicy ?? {};
  const before = claim.metadata.ownerReferences ?? [];
  const foreign = before.filter(({ kind, name, uid }) => {
    const ofPod = kind === "Pod" && name.startsWith(`${set.metadata.name}-`);
    return uid !== set.metadata.uid && !ofPod;
  });
  const loose = { controller: false, blockOwnerDeletion: false };
  const goes = leaving !== undefined && whenScaled === "Delete";
  const owners = [
    ...foreign,
    ...(goes ? [ownerReferenceTo(leaving, loose)] : []),
    ...(!goes && whenDeleted === "Delete" ? [ownerReferenceTo(set, loose)] : []),
  ];
  const uids = (references: OwnerReferences) => references.map(({ uid }) => uid).sort();
  return isDeepStrictEqual(uids(before), uids(owners))
    ? undefined
    : { do: "set-claim-owners", claim, owners };
}

/** The set was made smaller, and the claim goes with the pod that it lost: the garbage collector is about to delete it. */
export function goesWithPod({ metadata }: PersistentVolumeClaim, podName: string): boolean {
  return (metadata.ownerReferences ?? []).some(({ kind, name }) => kind === "Pod" && name === podName);
}

/** The claim with other owners. */
export function owned(claim: PersistentVolumeClaim, owners: OwnerReferences): PersistentVolumeClaim {
  const { ownerReferences: _, ...metadata } = claim.metadata;
  const ownerReferences = owners.length === 0 ? undefined : owners;
  return { ...claim, metadata: { ...metadata, ...defined({ ownerReferences }) } };
}
