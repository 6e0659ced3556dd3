import { isAlreadyExists, isNotFound, isStatus } from "@mooring/store";

/** How long a server that says nothing is asked again: far longer than a busy machine takes. */
const LONGEST_MS = 600_000;

export function patience(): AbortSignal {
  return AbortSignal.timeout(LONGEST_MS);
}

/**
 * Sends a request until it has a response. One that got none may have been done all the same: then what is there already
 * (`AlreadyExists`), or gone (`NotFound`), is what was asked for.
 */
export async function accepted(send: () => Promise<unknown>, signal = patience()): Promise<void> {
  for (let isFirst = true; ; isFirst = false) {
    try {
      await send();
      return;
    } catch (error) {
      if (!isFirst && (isAlreadyExists(error) || isNotFound(error))) return;
      if (!isStatus(error, "ServiceUnavailable", "Timeout")) throw error;
      signal.throwIfAborted();
    }
  }
}
