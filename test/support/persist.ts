import type { Resource } from "@mooring/store";
import {
  isAlreadyExists,
  isNotFound,
  type KubeObject,
  type ObjectKey,
  type ObjectStore,
} from "@mooring/store";
import { eventually } from "@mooring/store/testing";

/** Runs `work` against the store; when the server has died under it, brings it back and runs it again. */
export type Persist = <T>(work: (store: ObjectStore) => Promise<T>) => Promise<T>;

export async function ensure<T extends KubeObject>(
  persist: Persist,
  resource: Resource<T>,
  object: T,
): Promise<void> {
  await persist(async (store) => {
    await store.create(resource, object).catch((error) => {
      if (!isAlreadyExists(error)) throw error;
    });
  });
}

/** Resolves with the object once it is acceptable. */
export async function reaches<T extends KubeObject>(
  persist: Persist,
  resource: Resource<T>,
  key: ObjectKey,
  accept: (object: T) => boolean,
): Promise<T> {
  return eventually(`${resource.kind} ${key.name}`, () =>
    persist(async (store) => {
      const object = await store.get(resource, key);
      return accept(object) ? object : undefined;
    }),
  );
}

export async function gone(persist: Persist, resource: Resource, key: ObjectKey): Promise<void> {
  await persist((store) => store.delete(resource, key).catch(unlessNotFound));
  await eventually(`${resource.kind} ${key.name} to be gone`, () =>
    persist((store) => store.get(resource, key).then(() => false, unlessNotFound)),
  );
}

function unlessNotFound(error: unknown): true {
  if (isNotFound(error)) return true;
  throw error;
}
