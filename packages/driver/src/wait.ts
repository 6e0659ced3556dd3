import { CsiError } from "@mooring/csi";
import { type KubeObject, type ObjectStore, type Resource, waitFor } from "@mooring/store";

export interface Wait<T> {
  /** What is waited for, as the end of "gave up waiting for ...". */
  what: string;
  until(object: T | undefined): boolean;
  /** What the object says for itself, for the error message. */
  describe?(object: T | undefined): string;
}

/**
 * Waits for an object's state as long as the caller does. When the caller gives up, the error says how far things
 * were; the work itself goes on, and the next call finds its result.
 */
export async function waitUntil<T extends KubeObject>(
  store: ObjectStore,
  resource: Resource<T>,
  name: string,
  wait: Wait<T>,
  signal: AbortSignal,
): Promise<T | undefined> {
  let last: T | undefined;
  const until = (object: T | undefined) => {
    last = object;
    return wait.until(object);
  };
  try {
    return await waitFor(store, resource, { name }, until, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    const state = wait.describe?.(last) ?? "";
    throw CsiError.deadlineExceeded(`gave up waiting for ${wait.what}${state === "" ? "" : `: ${state}`}`, {
      hint: "Repeat the call: it goes on where this one stopped.",
      cause: error,
    });
  }
}
