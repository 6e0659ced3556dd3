import type { KubeObject } from "../object/meta.ts";
import type { Resource } from "../object/resource.ts";
import { isNotFound } from "../object/status-error.ts";
import type { ObjectKey, ObjectStore } from "../object-store.ts";

/** One object, or undefined when it, or its kind, is not there. */
export async function getIfAny<T extends KubeObject>(
  store: Pick<ObjectStore, "get">,
  resource: Resource<T>,
  key: ObjectKey,
  signal?: AbortSignal,
): Promise<T | undefined> {
  try {
    return await store.get(resource, key, signal);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
