import type { KubeObject } from "../object/meta.ts";
import { isStatus } from "../object/status-error.ts";
import type { WatchEvent } from "../object-store.ts";
import { backoffMs, delay } from "../runtime/wait.ts";

/** Where one attempt at a watch begins. */
export interface WatchRequest {
  /** Undefined: begin with the present objects. */
  resourceVersion: string | undefined;
  sendInitialEvents: boolean | undefined;
}

/** A connection that lived this long was healthy: the next failure is a first one. */
const HEALTHY_MS = 5_000;
const BACKOFF = { baseMs: 200, maxMs: 30_000 };

/**
 * One endless watch made of many: servers end every watch after some minutes, and connections break. It goes on from
 * the last revision seen, one request at a time, and throws only what going on cannot help: Expired, refusals, and a
 * break before there is a revision to go on from. Every event passes few generators, as each is a promise more: bookmarks,
 * which are always asked for, are left out here where the caller wants none.
 */
export async function* resumingWatch<T extends KubeObject>(
  open: (request: WatchRequest) => Promise<AsyncGenerator<WatchEvent<T>, void>>,
  { first, bookmarks }: { first: WatchRequest; bookmarks: boolean },
  signal: AbortSignal,
): AsyncGenerator<WatchEvent<T>, void> {
  // Initial events come in the order of their names: none of their revisions shows how far the watch is.
  let resumable = isRevision(first.resourceVersion) && first.sendInitialEvents !== true;
  let request = first;
  let failures = 0;
  while (!signal.aborted) {
    const startedAt = performance.now();
    try {
      for await (const event of await open(request)) {
        if (event.type === "BOOKMARK") resumable = true;
        const { resourceVersion } = event.object.metadata;
        if (resumable && resourceVersion) request = { resourceVersion, sendInitialEvents: undefined };
        if (bookmarks || event.type !== "BOOKMARK") yield event;
        if (signal.aborted) return;
      }
      if (!resumable) return;
    } catch (error) {
      if (signal.aborted) return;
      if (!resumable || !isStatus(error, "ServiceUnavailable", "TooManyRequests", "InternalError"))
        throw error;
    }
    failures = performance.now() - startedAt > HEALTHY_MS ? 1 : failures + 1;
    await delay(backoffMs(failures, BACKOFF), signal).catch(() => {});
  }
}

function isRevision(resourceVersion: string | undefined): boolean {
  return resourceVersion !== undefined && resourceVersion !== "" && resourceVersion !== "0";
}
