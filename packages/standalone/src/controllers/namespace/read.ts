import {
  type ConfigMap,
  ConfigMaps,
  getIfAny,
  type Informer,
  type Namespace,
  Namespaces,
  type ObjectStore,
  type ReadContext,
  type Resource,
  type ServiceAccount,
  ServiceAccounts,
} from "@mooring/store";
import type { KindRegistry } from "../../kinds/kind-info.ts";
import { contentsOf } from "./contents.ts";
import { DEFAULT_ACCOUNT, ROOT_CA, type View } from "./decide.ts";

interface NamespaceReads {
  store: ObjectStore;
  kinds: KindRegistry;
  /** The authority's certificate, PEM. */
  caPem: string;
  /** Milliseconds since the epoch. */
  clock: () => number;
  namespaces: Informer<Namespace>;
  /** Those called `kube-root-ca.crt`. */
  configMaps: Informer<ConfigMap>;
  /** Those called `default`. */
  accounts: Informer<ServiceAccount>;
}

/** A namespace and, when it is being deleted, all that is in it: no watch delivers that, so it is asked for again. */
export async function readNamespace(
  name: string,
  { store, kinds, caPem, clock, configMaps, accounts }: NamespaceReads,
  { reader, signal }: ReadContext,
): Promise<View | undefined> {
  const namespace = await getIfAny(reader.store, Namespaces, { name }, signal);
  if (namespace === undefined) return undefined;
  const { deletionTimestamp } = namespace.metadata;
  if (deletionTimestamp !== undefined) {
    const remnants = await contentsOf(store, kinds, name, signal);
    const deletingMs = clock() - Date.parse(deletionTimestamp);
    return { namespace, hasRootCa: true, hasDefaultAccount: true, remnants, deletingMs };
  }
  // A cache that is behind would have made again what is there: the store shows what is missing.
  const has = async <T extends ConfigMap | ServiceAccount>(
    resource: Resource<T>,
    informer: Informer<T>,
    { object, isAsWanted }: { object: string; isAsWanted: (found: T | undefined) => boolean },
  ) =>
    isAsWanted(reader.over(informer).get(`${name}/${object}`)) ||
    isAsWanted(await getIfAny(reader.store, resource, { namespace: name, name: object }, signal));
  // Of an authority that was replaced, or changed by a user, pods would trust the wrong one.
  const hasRootCa = await has(ConfigMaps, configMaps, {
    ...{ object: ROOT_CA, isAsWanted: (found) => found?.data?.["ca.crt"] === caPem },
  });
  const hasDefaultAccount = await has(ServiceAccounts, accounts, {
    ...{ object: DEFAULT_ACCOUNT, isAsWanted: (found) => found !== undefined },
  });
  return { namespace, hasRootCa, hasDefaultAccount, remnants: [] };
}
