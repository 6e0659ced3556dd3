import type { KubeObject, ObjectKey, ObjectStore, OwnerReference, Resource } from "@mooring/store";
import { defined } from "@mooring/store";

/** What the garbage collector keeps of an object: enough to know who owns it and whether it is on its way out. */
export interface Identity extends KubeObject {
  metadata: KubeObject["metadata"] & { uid: string };
}

/** Finalizer of an owner whose dependents are deleted first. */
export const FOREGROUND = "foregroundDeletion";
/** Finalizer of an owner whose dependents are to stay. */
export const ORPHAN = "orphan";

/** By what an object is known as an owner or dependent. */
export function identityOf(object: KubeObject): Identity {
  const { name, namespace, uid, resourceVersion, ownerReferences, finalizers, deletionTimestamp } =
    object.metadata;
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: {
      name,
      uid: uid ?? "",
      ...defined({ namespace, resourceVersion, ownerReferences, finalizers, deletionTimestamp }),
    },
  };
}

/** The owner references of an object; empty when it has none. */
export const ownersOf = (object: KubeObject): readonly OwnerReference[] =>
  object.metadata.ownerReferences ?? [];

/** Marked for deletion, with a finalizer for which the collector has to do its part. */
export function isDeletingWith(object: KubeObject, finalizer: string): boolean {
  const { deletionTimestamp, finalizers } = object.metadata;
  return deletionTimestamp !== undefined && finalizers?.includes(finalizer) === true;
}

/** The key of the object in a store. */
export function objectKey({ metadata }: KubeObject): ObjectKey {
  const { name, namespace } = metadata;
  return namespace === undefined ? { name } : { namespace, name };
}

/** Lists and watches like `store`, but hands out identities only: caches of every kind must stay small. */
export function identityStore(store: ObjectStore): Pick<ObjectStore, "list" | "watch"> {
  const strip = <T extends KubeObject>(object: T) => identityOf(object) as unknown as T;
  return {
    async list<T extends KubeObject>(resource: Resource<T>, options?: Parameters<ObjectStore["list"]>[1]) {
      const result = await store.list(resource, options);
      return { ...result, items: result.items.map(strip) };
    },
    async *watch<T extends KubeObject>(resource: Resource<T>, options: Parameters<ObjectStore["watch"]>[1]) {
      for await (const event of store.watch(resource, options)) {
        yield event.type === "BOOKMARK" ? event : { ...event, object: strip(event.object) };
      }
    },
  };
}
