import { Events, type Event as KubeEvent } from "../kinds/kubernetes.ts";
import { isConflict, isNotFound } from "../object/status-error.ts";
import type { ObjectStore } from "../object-store.ts";
import { type Logger, silentLogger } from "../runtime/logger.ts";
import { delay } from "../runtime/wait.ts";
import { listAll } from "./list-all.ts";

/** How long events stay, and how often the expired ones are deleted. */
export interface EventExpiryOptions {
  store: ObjectStore;
  /** Age at which an event goes, counted from its last repetition; default one hour, as in Kubernetes. Milliseconds. */
  ttlMs?: number;
  /** Between two passes; default five minutes. */
  everyMs?: number;
  /** Milliseconds since the epoch; default `Date.now`. */
  clock?: () => number;
  logger?: Logger;
  signal: AbortSignal;
}

/** Deletes old Events until the signal aborts. Clusters do that themselves; a LocalStore needs it. */
export function startEventExpiry(options: EventExpiryOptions): { done: Promise<void> } {
  return { done: expireForEver(options) };
}

async function expireForEver(options: EventExpiryOptions): Promise<void> {
  const { signal, everyMs = 300_000, logger = silentLogger } = options;
  while (!signal.aborted) {
    try {
      await expireOnce(options);
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: error }, "cannot remove old events; trying again later");
    }
    await delay(everyMs, signal).catch(() => {});
  }
}

async function expireOnce({
  store,
  ttlMs = 3_600_000,
  clock = Date.now,
  signal,
}: EventExpiryOptions): Promise<void> {
  const { items } = await listAll(store, Events, { signal });
  for (const event of items) {
    if (signal.aborted) return;
    if (clock() - lastSeen(event) <= ttlMs) continue;
    const { name, namespace = "default", resourceVersion = "" } = event.metadata;
    try {
      // Repeated meanwhile: then it is not old.
      await store.delete(Events, { name, namespace }, { preconditions: { resourceVersion }, signal });
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
  }
}

function lastSeen({ series, lastTimestamp, eventTime, metadata }: KubeEvent): number {
  const time = series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? metadata.creationTimestamp;
  return time === undefined ? Number.POSITIVE_INFINITY : Date.parse(String(time));
}
