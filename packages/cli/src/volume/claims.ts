import { DRIVER_NAME } from "@mooring/engine";
import { isForbidden, isNotFound, type ObjectStore, PersistentVolumes } from "@mooring/store";

/** `NAMESPACE/CLAIM` of each of Mooring's volumes that is a claim's, by its handle. */
export type ClaimsByHandle = ReadonlyMap<string, string>;

/** Empty for who may not read PersistentVolumes, and where a server has none: everything else is shown all the same. */
export async function claimsByHandle(store: ObjectStore): Promise<ClaimsByHandle> {
  const { items } = await store.list(PersistentVolumes).catch((error: unknown) => {
    if (isForbidden(error) || isNotFound(error)) return { items: [] };
    throw error;
  });
  return new Map(
    items.flatMap(({ spec }): [string, string][] => {
      const { csi, claimRef } = spec ?? {};
      if (csi?.driver !== DRIVER_NAME || claimRef === undefined) return [];
      return [[csi.volumeHandle, `${claimRef.namespace}/${claimRef.name}`]];
    }),
  );
}

const NAMES_HANDLE = /^(?:Volume|VolumeAttachment|ShareManager|Ticket) ([^\s/]+)(?:\/\S+)?/i;

/** What begins with a handle, such as `Volume v-1`, with its claim: `Volume v-1 (claim shop/data)`. */
export function withClaim(subject: string, claims: ClaimsByHandle): string {
  return subject.replace(NAMES_HANDLE, (found: string, handle: string) => {
    const claim = claims.get(handle);
    return claim === undefined ? found : `${found} (claim ${claim})`;
  });
}
