import { waitFor } from "../controller/wait-for.ts";
import type { KubeObject } from "../object/meta.ts";
import type { ObjectKey, Resource } from "../object/resource.ts";
import type { ObjectStore } from "../object-store.ts";
import { withTimeLimit } from "../runtime/wait.ts";

/**
 * Waits until the object is as wanted, undefined when there is none, for at most a minute or as long as is given;
 * fails with what it was last.
 */
export async function eventuallyObject<T extends KubeObject>(
  store: ObjectStore,
  { resource, key }: { resource: Resource<T>; key: ObjectKey },
  isWanted: (object: T | undefined) => boolean,
  withinMs = 60_000,
): Promise<T | undefined> {
  let last: T | undefined;
  const test = (object: T | undefined): boolean => {
    last = object;
    return isWanted(object);
  };
  try {
    return await waitFor(store, { resource, key }, test, withTimeLimit(withinMs));
  } catch (cause) {
    const what = `${resource.kind} ${key.name} did not come to the state`;
    throw new Error(`${what}: ${JSON.stringify(last, null, 1)}`, { cause });
  }
}
