import { isNotFound, type Lease, Leases, mutate, type ObjectStore } from "@mooring/store";
import { LEASE_NAMESPACE } from "../api/names.ts";
import { leaseName } from "./lease-watch.ts";

/**
 * On a lease of an image in a cluster: the addresses by which its holder has the image open, before anything can be written there. Stays until
 * the cluster refuses them, or the image was closed.
 */
export const CLIENTS = "storage.mooring.dev/clients";

/** By which addresses its last holder had the image open, as far as that one has recorded them. */
export function clientsOf(lease: Lease | undefined): string[] {
  return lease?.metadata.annotations?.[CLIENTS]?.split(" ").filter(Boolean) ?? [];
}

/** The annotations of a lease whose image is closed. */
export function withoutClients({ annotations }: Lease["metadata"]): Record<string, string> {
  const { [CLIENTS]: _clients, ...others } = annotations ?? {};
  return others;
}

interface Clients {
  image: string;
  /** Whose lease it has to be. */
  identity: string;
  clients: readonly string[];
}

/** Resolves with the lease as it is then; undefined when it is another's, or nobody's: nothing was written. */
export async function writeClients(
  store: ObjectStore,
  { image, identity, clients }: Clients,
  signal: AbortSignal,
): Promise<Lease | undefined> {
  const key = { namespace: LEASE_NAMESPACE, name: leaseName(image) };
  const isOurs = ({ spec }: Lease) => spec?.holderIdentity === identity;
  const change = (lease: Lease): void => {
    if (isOurs(lease))
      lease.metadata.annotations = { ...lease.metadata.annotations, [CLIENTS]: clients.join(" ") };
  };
  try {
    const lease = await mutate(store, Leases, key, { change, signal });
    return isOurs(lease) ? lease : undefined;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return undefined;
  }
}
