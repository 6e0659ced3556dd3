import {
  isAlreadyExists,
  isNotFound,
  type KubeObject,
  type ObjectKey,
  type ObjectStore,
  type Resource,
} from "@mooring/store";
import { claim } from "../testing/objects.ts";

/** What the story does, in a way that may be done again. */

export const NS = "default";
export const key = (name: string): ObjectKey => ({ namespace: NS, name });

export async function ensure<T extends KubeObject>(
  store: ObjectStore,
  resource: Resource<T>,
  object: T,
): Promise<void> {
  try {
    const { uid: _uid, resourceVersion: _version, ...metadata } = object.metadata;
    await store.create(resource, { ...object, metadata });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

export async function ensureGone(store: ObjectStore, resource: Resource, at: ObjectKey): Promise<void> {
  try {
    await store.delete(resource, at);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

export function newClaim(name: string, spec: object = {}, annotations: Record<string, string> = {}) {
  return { ...claim(name, spec), metadata: { name, namespace: NS, annotations } };
}
