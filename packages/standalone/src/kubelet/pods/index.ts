import {
  type Outcome,
  Reconciler,
  source,
  stepFailpoints,
  type WatchedInformer,
  WrittenCache,
} from "@mooring/store";
import { applyPodStep } from "./apply.ts";
import type { PodContext, PodControllerOptions } from "./context.ts";
import { type ActivePodStep, decideStep } from "./decide.ts";
import { createProber, type Prober } from "./prober.ts";
import { readPod, type SeenPod } from "./read.ts";
import { askForReferences, followReferences } from "./references.ts";
import { Seats } from "./seats.ts";

const failpoints = stepFailpoints<ActivePodStep>("standalone/kubelet/pods", {
  "update-probes": true,
  "mount-volumes": true,
  "report-status": true,
  start: true,
  stop: true,
  "release-volumes": true,
  "remove-folder": true,
  "remove-containers": true,
  "delete-object": true,
});

/**
 * Pods that are attended to at the same time: as many as there may ever be. One whose containers heed no signal and that gave itself
 * years, or whose hook hangs, keeps no other waiting.
 */
const CONCURRENCY = 4096;
/** Pods for which something is done at the same time, and not waited. */
const BUSY = 64;
/** Steps in one round: each container of a pod takes some, and there may be hundreds. */
const MOST_STEPS = 5_000;

/** Brings each pod of this node, by uid, to what its object asks for; also those that have no object any more. */
export async function runPods(options: PodControllerOptions): Promise<void> {
  const { store, view, runtime, node, wakes, signal } = options;
  const asks = options.referencesBy === "ask";
  const context: PodContext = {
    ...options,
    pods: new WrittenCache(store, view.pods),
    prober: proberOf(options),
    references: asks ? undefined : followReferences(store, options),
    startErrors: new Map(),
    seats: new Seats(BUSY),
  };
  const podsHere = () => view.pods.byIndex("node", node.nodeName);
  const reconciler = reconcilerOf(context);
  wakes.listen((uid) => reconciler.add(uid));
  const unfollow = runtime.onChange((podUID) => wakes.add(podUID));
  const measuring = options.evictions.run(signal);
  const watching = options.lostMounts.run(signal);
  const asking = asks ? askForReferences(podsHere, (uid) => wakes.remount(uid), signal) : undefined;
  try {
    await reconciler.run(signal);
  } finally {
    unfollow();
    context.prober.close();
    await Promise.all([context.references?.done, asking, measuring, watching]);
  }
}

type PodRead = { uid: string; seen: SeenPod | undefined };

/** Containers and volumes of this machine are no objects: they report their changes to the controller themselves. */
function reconcilerOf(context: PodContext): Reconciler<PodRead, ActivePodStep | Outcome> {
  const { store, view, node, wakes, logger, references } = context;
  // Only run and compared with themselves, whatever they contain.
  const read = references === undefined ? [] : [references.configMaps, references.secrets];
  return new Reconciler<PodRead, ActivePodStep | Outcome>({
    ...{ name: "kubelet", store, logger, failpoints, concurrency: CONCURRENCY, mostSteps: MOST_STEPS },
    backoff: { baseMs: 500, maxMs: 60_000 },
    sources: [
      source(view.pods, ({ metadata, spec }) =>
        spec?.nodeName === node.nodeName ? [metadata.uid ?? ""] : [],
      ),
    ],
    watched: [view.claims, view.volumes, view.nodes, ...(read as WatchedInformer[])],
    read: async (uid, { reader }) => ({ uid, seen: await readPod(context, uid, reader) }),
    isGone: ({ seen }) => seen === undefined,
    decide: ({ seen }) => (seen === undefined ? { do: "done" } : decideStep(seen.podView, seen.due)),
    apply: async (step, { seen }) => (seen === undefined ? undefined : applyPodStep(context, seen, step)),
    ended: async (uid) => {
      if (view.pods.byIndex("uid", uid).length > 0) return;
      wakes.forget(uid);
      context.evictions.forget(uid);
      context.lostMounts.forget(uid);
    },
  });
}

/** Container ids begin with the pod's uid. */
function proberOf({ view, wakes, events }: PodControllerOptions): Prober {
  const podUID = (id: string) => id.slice(0, id.indexOf("_"));
  return createProber(
    (id) => wakes.add(podUID(id)),
    (id, kind, outcome, message) => {
      const pod = view.pods.byIndex("uid", podUID(id))[0];
      const title = `${kind.slice(0, 1).toUpperCase()}${kind.slice(1)}`;
      if (pod !== undefined)
        events.event(pod, "Warning", "Unhealthy", `${title} probe ${outcome}: ${message}`);
    },
  );
}
