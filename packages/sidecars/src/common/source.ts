import { type ControllerSource, type KubeObject, keyOf, source as sourceOf } from "@mooring/store";
import type { ObjectCache } from "../kube/cache.ts";

/**
 * A kind whose changes wake the given keys of a controller; what has no key is left out. `matters`: whether a step may follow from the
 * object as it is (default: always).
 */
export function source<T extends KubeObject>(
  cache: ObjectCache<T>,
  keys: (object: T) => (string | undefined)[],
  matters?: (object: T) => boolean,
): ControllerSource {
  return sourceOf(
    cache.informer,
    (object) => keys(object).filter((key) => key !== undefined && key !== "") as string[],
    matters && ((object) => isStill(matters, cache.get(keyOf(object)))),
  );
}

/** What the watch brings may be older than what we have written since. Who has read an object that is gone is asked by that. */
function isStill<T>(matters: (object: T) => boolean, now: T | undefined): boolean {
  return now !== undefined && matters(now);
}
