import { isNotFound, type KubeObject, type ObjectKey, type ObjectStore, type Resource } from "@mooring/store";

/** One object, or undefined when it (or its kind) is not there. */
export async function getIfAny<T extends KubeObject>(
  store: ObjectStore,
  resource: Resource<T>,
  key: ObjectKey,
): Promise<T | undefined> {
  try {
    return await store.get(resource, key);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
