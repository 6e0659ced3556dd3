import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "../object/meta.ts";
import type { ObjectKey, Resource } from "../object/resource.ts";
import { isConflict } from "../object/status-error.ts";
import type { ObjectStore, WriteOptions } from "../object-store.ts";
import { backoffMs, delay } from "../runtime/wait.ts";

/** How often a write that meets a Conflict is made again. */
export interface RetryOptions {
  /** Attempts before the conflict is thrown; default 10. */
  attempts?: number;
  signal?: AbortSignal;
}

const BACKOFF = { baseMs: 5, maxMs: 1_000 };

/** Calls `attempt` until it does not end in Conflict. It must read again what it writes. */
export async function retryOnConflict<T>(
  attempt: () => Promise<T>,
  { attempts = 10, signal }: RetryOptions = {},
): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isConflict(error) || failures >= attempts) throw error;
    }
    await delay(backoffMs(failures, BACKOFF), signal);
  }
}

/** How `mutate` writes: attempts, field manager, signal, subresource. */
export interface MutateOptions extends WriteOptions, RetryOptions {
  /** Write the status subresource; `change` should change nothing else. */
  subresource?: "status";
}

/** Changes its argument, or returns a replacement. */
// biome-ignore lint/suspicious/noConfusingVoidType: changing the argument is the usual way
type Change<T> = (object: T) => T | undefined | void;

/**
 * Reads the object, lets `change` change it, and writes it unless another client has written meanwhile; then again from
 * the start. Nothing is written when nothing changed. Resolves with the object as it is afterwards; throws NotFound
 * when there is none, and Conflict after the last attempt.
 */
export function mutate<T extends KubeObject>(
  store: ObjectStore,
  resource: Resource<T>,
  key: ObjectKey,
  how: Change<T> | (MutateOptions & { change: Change<T> }),
): Promise<T> {
  const { change, ...options } = typeof how === "function" ? { change: how } : how;
  const { subresource, attempts: _attempts, ...write }: MutateOptions = options;
  return retryOnConflict(async () => {
    const current = await store.get(resource, key, write.signal);
    const copy = structuredClone(current);
    const next = change(copy) ?? copy;
    if (isDeepStrictEqual(next, current)) return current;
    return subresource === "status"
      ? store.updateStatus(resource, next, write)
      : store.update(resource, next, write);
  }, options);
}
