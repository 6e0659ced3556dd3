import {
  type ObjectStore,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  type WrittenCache,
} from "@mooring/store";

/** Makes a claim of a pod. */
export async function createClaim(
  store: ObjectStore,
  claims: WrittenCache<PersistentVolumeClaim>,
  claim: PersistentVolumeClaim,
): Promise<void> {
  claims.wrote(await store.create(PersistentVolumeClaims, claim));
}
