import { type ControllerSource, type KubeObject, source as sourceOf } from "@mooring/store";
import type { ObjectCache } from "../kube/cache.ts";

/** A kind whose changes wake the given keys of a controller; what has no key is left out. */
export function source<T extends KubeObject>(
  cache: ObjectCache<T>,
  keys: (object: T) => (string | undefined)[],
): ControllerSource {
  return sourceOf(
    cache.informer,
    (object) => keys(object).filter((key) => key !== undefined && key !== "") as string[],
  );
}
