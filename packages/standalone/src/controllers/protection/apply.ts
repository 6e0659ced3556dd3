import {
  addFinalizer,
  isNotFound,
  type KubeObject,
  keyOf,
  type ObjectStore,
  parseKey,
  removeFinalizer,
  type WrittenCache,
} from "@mooring/store";
import type { ProtectionStep } from "./decide.ts";

/** Adds the finalizer, or takes it away; an object that is gone needs neither. */
export async function applyProtection<T extends KubeObject>(
  step: ProtectionStep,
  object: T,
  finalizer: string,
  { store, cache, signal }: { store: ObjectStore; cache: WrittenCache<T>; signal: AbortSignal },
): Promise<void> {
  const key = parseKey(keyOf(object));
  if (step.do === "add-finalizer") {
    try {
      cache.wrote(await addFinalizer(store, { resource: cache.resource, key }, finalizer, signal));
    } catch (error) {
      if (!isNotFound(error)) throw error;
      cache.gone(object);
    }
  } else if (step.do === "remove-finalizer") {
    const left = await removeFinalizer(store, { resource: cache.resource, key }, finalizer, signal);
    if (left === undefined) cache.gone(object);
    else cache.deleted(left);
  }
}
