import { defined } from "../object/defined.ts";
import type { KubeObject } from "../object/meta.ts";
import type { ObjectKey, Resource } from "../object/resource.ts";
import { isNotFound } from "../object/status-error.ts";
import type { ObjectStore } from "../object-store.ts";
import { mutate } from "./mutate.ts";

/** True when the object has the finalizer: a delete only marks it until a controller removes it. */
export function hasFinalizer(object: KubeObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false;
}

/** True when a client has asked for the deletion. */
export function isDeleting(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}

/** Adds the finalizer to the object in memory; true when it was not there. */
function setFinalizer(object: KubeObject, finalizer: string): boolean {
  if (hasFinalizer(object, finalizer)) return false;
  object.metadata.finalizers = [...(object.metadata.finalizers ?? []), finalizer];
  return true;
}

/** Takes the finalizer from the object in memory; true when it was there. */
export function unsetFinalizer(object: KubeObject, finalizer: string): boolean {
  if (!hasFinalizer(object, finalizer)) return false;
  object.metadata.finalizers = (object.metadata.finalizers ?? []).filter((name) => name !== finalizer);
  return true;
}

/** Adds the finalizer in the store. Throws Invalid when the object is already being deleted. */
export function addFinalizer<T extends KubeObject>(
  store: ObjectStore,
  { resource, key }: { resource: Resource<T>; key: ObjectKey },
  finalizer: string,
  signal?: AbortSignal,
): Promise<T> {
  const change = (object: T) => void setFinalizer(object, finalizer);
  return mutate(store, resource, key, { change, ...defined({ signal }) });
}

/** Takes the finalizer away in the store; an object that is gone needs nothing. */
export async function removeFinalizer<T extends KubeObject>(
  store: ObjectStore,
  { resource, key }: { resource: Resource<T>; key: ObjectKey },
  finalizer: string,
  signal?: AbortSignal,
): Promise<T | undefined> {
  const change = (object: T) => void unsetFinalizer(object, finalizer);
  try {
    return await mutate(store, resource, key, { change, ...defined({ signal }) });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
