import { EventRecorder, type Logger, type ObjectStore, Reconciler, stepFailpoints } from "@mooring/store";
import type { KindRegistry } from "../../kinds/kind-info.ts";
import { type ApplyContext, apply } from "./apply.ts";
import { decide, type Step } from "./decide.ts";
import { ForeignReports } from "./foreign-reports.ts";
import { OwnerGraph } from "./graph.ts";
import { identityOf } from "./identity.ts";
import { Monitors } from "./monitors.ts";
import { type CollectorView, readObject } from "./read.ts";

const failpoints = stepFailpoints<Step>("standalone/garbage-collector", {
  "remove-finalizer": true,
  "release-dependents": true,
  "collect-dependents": true,
  "drop-references": true,
  unblock: true,
  "report-foreign-owners": true,
  delete: true,
});

interface GarbageCollectorOptions {
  store: ObjectStore;
  kinds: KindRegistry;
  logger: Logger;
  signal: AbortSignal;
}

/**
 * Deletes what has lost its owners, and carries out foreground and orphaning deletions, for every kind that is
 * served. Resolves when it has seen everything that exists; `done` settles when it has stopped.
 */
export async function startGarbageCollector(
  options: GarbageCollectorOptions,
): Promise<{ done: Promise<void> }> {
  const { store, kinds, logger, signal } = options;
  const events = new EventRecorder(store, { component: "garbage-collector-controller", logger });
  const reported = new ForeignReports();
  const graph: OwnerGraph = new OwnerGraph((uid) => collector.add(uid));
  const context: ApplyContext = {
    ...{ store, events, reported, signal },
    nodeOf: (other) => graph.get(other),
    touch: (other) => collector.add(other),
    observed: (resource, object) => graph.put(resource, identityOf(object)),
  };
  const collector = new Reconciler<CollectorView, Step>({
    ...{ name: "garbage-collector", store, logger, failpoints },
    // Most of the time a worker waits for the disk, and those who wait together share a trip to it.
    concurrency: 20,
    // Objects of every kind there is: the graph asks for those that a change affects.
    sources: [],
    keys: () => graph.waiting(),
    async read(uid) {
      await monitors.synced();
      return readObject(uid, { store, kinds, graph, reported, signal });
    },
    isGone: () => true,
    decide,
    apply: (step, { node }) => apply(step, node, context),
    ended: async (uid) => {
      if (graph.get(uid) === undefined) reported.forget(uid);
    },
  });
  const monitors = new Monitors({ store, kinds, graph, logger, signal });
  // A kind that comes later may have owners of what is here: everything is read again.
  const unfollow = kinds.onChange(() => graph.touchAll());
  signal.addEventListener("abort", unfollow, { once: true });
  await monitors.synced();
  const done = Promise.all([collector.run(signal), monitors.done()]).then(() => events.flush());
  return { done };
}
