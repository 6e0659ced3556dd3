import { tooLarge } from "../object/errors.ts";
import { apiVersionOf, type Resource } from "../object/resource.ts";
import type { WatchEvent, WatchOptions } from "../object-store.ts";
import { nextSlice, sliceLasts } from "../runtime/slices.ts";
import { allowManyListeners } from "../runtime/wait.ts";
import type { ObjectDatabase } from "./database.ts";
import type { History } from "./history.ts";
import { listJson, parseRevision } from "./list.ts";
import type { Selection } from "./selection.ts";
import type { Timeline } from "./timeline.ts";

/** A bookmark comes after this long without an event, so that idle watchers never fall out of the history. */
const BOOKMARK_MS = 30_000;
/** Events taken from the history at a time. */
const BATCH = 128;

/** A watch event as it comes out of the store: the object is JSON, unparsed. */
export interface JsonWatchEvent {
  type: WatchEvent<never>["type"];
  json: string;
}

interface WatchSource {
  database: ObjectDatabase;
  timeline: Timeline;
  history: History;
}

/** Streams events until the signal aborts. Throws Expired when the history no longer reaches back. */
export async function* watchJson(
  source: WatchSource,
  selection: Selection,
  resource: Resource,
  options: WatchOptions,
): AsyncGenerator<JsonWatchEvent, void> {
  const { signal } = options;
  allowManyListeners(signal);
  let { revision, initial } = startingPoint(source.timeline.revision, options);
  if (initial) {
    const list = listJson(source, selection, { ...options, resourceVersion: "" });
    revision = Number(list.resourceVersion);
    for await (const page of list.pages) {
      for (const json of page) {
        if (signal.aborted) return;
        yield { type: "ADDED", json };
      }
    }
    if (options.sendInitialEvents) yield bookmark(resource, revision, true);
  }
  while (!signal.aborted && !source.history.closed) {
    const events = source.history.after(selection.collection, revision, BATCH);
    for (const event of events) {
      // A watcher that catches up, or selects, must not keep everybody else waiting.
      while (!sliceLasts()) await nextSlice();
      if (signal.aborted) return;
      revision = event.revision;
      const seen = selection.view(event);
      if (seen !== undefined) yield seen;
    }
    if (events.length > 0) continue;
    // No event of this collection lies between: the watcher is as far as the store.
    const reached = source.timeline.revision;
    await source.history.changed(selection.collection, revision, signal, BOOKMARK_MS);
    const idle = source.history.after(selection.collection, revision, 1).length === 0;
    if (idle && reached > revision) revision = reached;
    if (idle && options.allowBookmarks && !signal.aborted && !source.history.closed)
      yield bookmark(resource, revision, false);
  }
}

function startingPoint(current: number, options: WatchOptions): { revision: number; initial: boolean } {
  const wanted = parseRevision(options.resourceVersion);
  if (wanted !== undefined && wanted > current) throw tooLarge(wanted, current);
  const anywhere = wanted === undefined || wanted === 0;
  const initial = options.sendInitialEvents ?? anywhere;
  return { revision: anywhere ? current : wanted, initial };
}

function bookmark(resource: Resource, revision: number, endsInitialEvents: boolean): JsonWatchEvent {
  const metadata = {
    resourceVersion: String(revision),
    creationTimestamp: null,
    ...(endsInitialEvents ? { annotations: { "k8s.io/initial-events-end": "true" } } : {}),
  };
  const object = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata };
  return { type: "BOOKMARK", json: JSON.stringify(object) };
}
