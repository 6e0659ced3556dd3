import {
  getIfAny,
  Namespaces,
  type ObjectStore,
  Pods,
  ServiceAccounts,
  type UnstructuredObject,
} from "@mooring/store";
import { requireSecure } from "./pod-security/admit.ts";
import { accountOf, requireKnownPriority, withoutAccount } from "./pods.ts";

/**
 * The same store for controllers that make pods of other objects, and write without the API server: a pod that no user may
 * create in a namespace is not made there for a Deployment or a Job either.
 */
export function admittingPods(store: ObjectStore): ObjectStore {
  const create: ObjectStore["create"] = async (resource, object, options) => {
    if (resource.group === Pods.group && resource.plural === Pods.plural) await admit(store, object);
    return store.create(resource, object, options);
  };
  return {
    create,
    get: (resource, key, signal) => store.get(resource, key, signal),
    list: (resource, options) => store.list(resource, options),
    watch: (resource, options) => store.watch(resource, options),
    update: (resource, object, options) => store.update(resource, object, options),
    updateStatus: (resource, object, options) => store.updateStatus(resource, object, options),
    patch: (resource, key, patch, options) => store.patch(resource, key, patch, options),
    delete: (resource, key, options) => store.delete(resource, key, options),
  };
}

async function admit(store: ObjectStore, object: object): Promise<void> {
  // Sound: only what pods have is read of it.
  const pod = object as UnstructuredObject;
  requireKnownPriority(pod);
  const account = accountOf(pod);
  if (account !== undefined && (await getIfAny(store, ServiceAccounts, account)) === undefined)
    throw withoutAccount(pod, account);
  const namespace = await store.get(Namespaces, { name: pod.metadata.namespace ?? "" });
  requireSecure(pod, namespace as unknown as UnstructuredObject);
}
