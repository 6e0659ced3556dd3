import { defined } from "../object/defined.ts";
import type { KubeObject } from "../object/meta.ts";
import type { ObjectKey, Resource } from "../object/resource.ts";
import { isNotFound, isStatus } from "../object/status-error.ts";
import type { ObjectStore } from "../object-store.ts";
import { backoffMs, delay } from "../runtime/wait.ts";

const BACKOFF = { baseMs: 100, maxMs: 5_000 };

/**
 * Resolves with the object as soon as the predicate is true of it; `undefined` stands for "there is none". Breaks of
 * the watch are waited out. Rejects with the signal's reason, or at once when the request itself is refused.
 */
export async function waitFor<T extends KubeObject>(
  store: ObjectStore,
  { resource, key }: { resource: Resource<T>; key: ObjectKey },
  predicate: (object: T | undefined) => boolean,
  signal: AbortSignal,
): Promise<T | undefined> {
  const selection = {
    fieldSelector: `metadata.name=${key.name}`,
    ...defined({ namespace: key.namespace }),
  };
  for (let failures = 1; ; failures++) {
    signal.throwIfAborted();
    try {
      const list = await store.list(resource, { ...selection, signal });
      if (predicate(list.items[0])) return list.items[0];
      const { resourceVersion } = list;
      for await (const { type, object } of store.watch(resource, {
        ...selection,
        resourceVersion,
        signal,
      })) {
        if (type === "BOOKMARK") continue;
        const current = type === "DELETED" ? undefined : object;
        if (predicate(current)) return current;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (isRefusal(error)) throw error;
    }
    await delay(backoffMs(failures, BACKOFF), signal);
  }
}

/** An error that asking again will not change. */
function isRefusal(error: unknown): boolean {
  return (
    isNotFound(error) ||
    isStatus(error, "BadRequest", "Invalid", "Forbidden", "Unauthorized", "MethodNotAllowed") ||
    // Thrown by the predicate.
    !isStatus(error)
  );
}
