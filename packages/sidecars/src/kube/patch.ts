import { defined, isDeleting, type KubeObject, type ObjectKey, type ObjectStore } from "@mooring/store";
import type { ObjectCache } from "./cache.ts";

/** `null` removes an entry. */
export interface MetadataChange {
  addFinalizers?: readonly string[];
  removeFinalizers?: readonly string[];
  annotations?: Readonly<Record<string, string | null>>;
  labels?: Readonly<Record<string, string | null>>;
  /** Fail with Conflict when the object has moved on: for values that are computed from what was there. */
  checkVersion?: boolean;
}

/** The key of the object in a store; without a namespace for what is cluster-wide. */
export function objectKey(object: KubeObject): ObjectKey {
  const { name, namespace } = object.metadata;
  return namespace === undefined || namespace === "" ? { name } : { name, namespace };
}

/**
 * Changes finalizers, annotations and labels in one patch. A list of finalizers can only be replaced as a whole, so
 * that patch insists on the version it was computed from; annotations and labels of others are never touched.
 */
export async function patchMetadata<T extends KubeObject>(
  store: ObjectStore,
  cache: ObjectCache<T>,
  object: T,
  change: MetadataChange,
): Promise<T> {
  const { addFinalizers = [], removeFinalizers = [], annotations, labels } = change;
  const before = object.metadata.finalizers ?? [];
  const kept = before.filter((finalizer) => !removeFinalizers.includes(finalizer));
  const finalizers = [...kept, ...addFinalizers.filter((finalizer) => !kept.includes(finalizer))];
  const touchesFinalizers = addFinalizers.length > 0 || removeFinalizers.length > 0;
  const metadata = {
    uid: object.metadata.uid,
    ...(touchesFinalizers ? { finalizers } : {}),
    ...(touchesFinalizers || change.checkVersion === true
      ? { resourceVersion: object.metadata.resourceVersion }
      : {}),
    ...defined({ annotations, labels }),
  };
  const left = await store.patch(cache.resource, objectKey(object), { type: "merge", body: { metadata } });
  const vanished = isDeleting(object) && touchesFinalizers && finalizers.length === 0;
  if (vanished) cache.gone(left);
  else cache.wrote(left);
  return left;
}

/** A merge patch of anything but the status, valid only for the version that the caller has seen. */
export async function patchObject<T extends KubeObject>(
  store: ObjectStore,
  cache: ObjectCache<T>,
  object: T,
  { metadata = {}, ...rest }: { metadata?: { finalizers?: string[]; [field: string]: unknown } },
): Promise<T> {
  const { uid, resourceVersion } = object.metadata;
  const body = { ...rest, metadata: { ...metadata, uid, resourceVersion } };
  const left = await store.patch(cache.resource, objectKey(object), { type: "merge", body });
  if (isDeleting(object) && metadata.finalizers?.length === 0) cache.gone(left);
  else cache.wrote(left);
  return left;
}

/** Replaces the given fields of an object's status, with the version that the caller has seen. */
export async function patchStatus<T extends KubeObject>(
  store: ObjectStore,
  cache: ObjectCache<T>,
  object: T,
  status: object,
): Promise<T> {
  const { uid, resourceVersion } = object.metadata;
  const body = { metadata: { uid, resourceVersion }, status };
  const options = { subresource: "status" };
  return cache.wrote(await store.patch(cache.resource, objectKey(object), { type: "merge", body }, options));
}

/** Deletes exactly this object, not one that has taken its name. */
export async function deleteObject<T extends KubeObject>(
  store: ObjectStore,
  cache: ObjectCache<T>,
  object: T,
): Promise<void> {
  const { uid } = object.metadata;
  const preconditions = uid === undefined ? {} : { preconditions: { uid } };
  cache.deleted(await store.delete(cache.resource, objectKey(object), preconditions));
}
