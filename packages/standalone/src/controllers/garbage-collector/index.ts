import { setImmediate as nextTurn } from "node:timers/promises";
import {
  EventRecorder,
  getIfAny,
  type KubeObject,
  type Logger,
  type ObjectStore,
  runController,
  WorkQueue,
} from "@mooring/store";
import type { KindRegistry } from "../../apiserver/kind-info.ts";
import { type ApplyContext, apply } from "./apply.ts";
import { decide, type View } from "./decide.ts";
import { type GraphNode, OwnerGraph } from "./graph.ts";
import { identityOf, objectKey, ownersOf } from "./identity.ts";
import { Monitors } from "./monitors.ts";
import { type OwnerLookup, ownerState } from "./owners.ts";

export interface GarbageCollectorOptions {
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
  const queue = new WorkQueue();
  const graph = new OwnerGraph((uid) => queue.add(uid));
  const monitors = new Monitors({ store, kinds, graph, logger, signal });
  const events = new EventRecorder(store, { component: "garbage-collector-controller", logger });
  const lookup: OwnerLookup = {
    store,
    kinds,
    graph,
    signal,
    onForeignOwner: (object, { apiVersion, kind, name, uid }) => {
      const owner = `[${apiVersion}/${kind}, namespace: ${object.metadata.namespace ?? ""}, name: ${name}, uid: ${uid}]`;
      const where = `does not exist in namespace ${JSON.stringify(object.metadata.namespace ?? "")}`;
      events.event(object, "Warning", "OwnerRefInvalidNamespace", `ownerRef ${owner} ${where}`);
    },
  };
  // A kind that comes later may hold owners of what is here: everything is looked at again.
  const unfollow = kinds.onChange(() => graph.touchAll());
  signal.addEventListener("abort", unfollow, { once: true });
  await monitors.synced();
  const controller = runController(
    {
      name: "garbage-collector",
      // Most of the time a worker waits for the disk, and those who wait together share a trip to it.
      concurrency: 20,
      sources: [],
      queue,
      logger,
      reconcile: async (uid) => {
        await monitors.synced();
        await collect(uid, { store, graph, lookup, signal, queue });
      },
    },
    signal,
  );
  const done = Promise.all([controller, monitors.done()]).then(() => events.flush());
  return { done };
}

interface Collector {
  store: ObjectStore;
  graph: OwnerGraph;
  lookup: OwnerLookup;
  signal: AbortSignal;
  queue: WorkQueue;
}

/** Step after step until there is nothing left to do about the object for now. */
async function collect(uid: string, { store, graph, lookup, signal, queue }: Collector): Promise<void> {
  const context: ApplyContext = {
    store,
    signal,
    nodeOf: (other) => graph.get(other),
    touch: (other) => queue.add(other),
    observed: (resource, object) => graph.put(resource, identityOf(object)),
  };
  for (;;) {
    // Reads of a local store do not wait for anything, so thousands of keys would keep everybody else out.
    await nextTurn();
    const known = graph.get(uid);
    const node = known === undefined ? undefined : await readAgain(known, store, signal);
    if (node === undefined) return;
    const step = decide(await viewOf(node, graph, lookup));
    await apply(step, node, context);
    // What other steps lead to comes with the events of what was done.
    if (step.type !== "release-dependents") return;
  }
}

/** The object as it is now; undefined when it is gone or another one has its name. */
async function readAgain(
  { resource, object }: GraphNode,
  store: ObjectStore,
  signal: AbortSignal,
): Promise<GraphNode | undefined> {
  const current = await getIfAny<KubeObject>(store, resource, objectKey(object), signal);
  if (current === undefined || current.metadata.uid !== object.metadata.uid) return undefined;
  return { resource, object: identityOf(current) };
}

async function viewOf({ object }: GraphNode, graph: OwnerGraph, lookup: OwnerLookup): Promise<View> {
  const owners =
    object.metadata.deletionTimestamp === undefined
      ? await Promise.all(ownersOf(object).map((reference) => ownerState(object, reference, lookup)))
      : [];
  const dependents = graph.dependentsOf(object.metadata.uid).map((dependent) => dependent.object);
  return { object, owners, dependents };
}
