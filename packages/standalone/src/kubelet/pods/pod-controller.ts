import {
  type EventRecorder,
  type Logger,
  type ObjectStore,
  type Pod,
  runController,
  source,
  type WorkQueue,
} from "@mooring/store";
import type { ClusterView } from "../../controllers/cluster-view.ts";
import type { Runtime } from "../../runtime/index.ts";
import { applyPodStep } from "./apply.ts";
import { decidePod } from "./decide.ts";
import type { NodeFacts } from "./field-ref.ts";
import type { PodVolumes } from "./pod-volumes.ts";
import { createProber, type Prober } from "./prober.ts";
import { lookAtPod } from "./read.ts";
import { askForReferences, followReferences } from "./references.ts";
import { reportStatus } from "./report.ts";

export interface PodControllerOptions {
  /** How changes of secrets and config maps that pods read are noticed: by a watch of all, or by asking now and then. */
  references?: "watch" | "ask";
  store: ObjectStore;
  view: ClusterView;
  runtime: Runtime;
  volumes: PodVolumes;
  node: NodeFacts;
  events: EventRecorder;
  logger: Logger;
  queue: WorkQueue;
  signal: AbortSignal;
}

export interface PodContext extends PodControllerOptions {
  prober: Prober;
  /** By `UID/CONTAINER`: why the last try to start it failed before anything ran. */
  startErrors: Map<string, { reason: string; message: string }>;
}

/** Pods that are worked on at the same time: a stop waits out its grace period, and must not hold up others. */
const CONCURRENCY = 64;

/** Brings each pod of this node, by uid, to what its object says; also those that have no object any more. */
export async function runPods(options: PodControllerOptions): Promise<void> {
  const { store, view, runtime, node, queue, signal, logger } = options;
  const context: PodContext = { ...options, prober: proberOf(options), startErrors: new Map() };
  const unfollow = runtime.onChange((podUID) => queue.add(podUID));
  const here = (pods: readonly Pod[]) =>
    pods.filter((pod) => pod.spec?.nodeName === node.nodeName).map((pod) => pod.metadata.uid ?? "");
  const usersOf = (claim: { namespace?: string; name?: string } | undefined) =>
    here(view.pods.byIndex("claim", `${claim?.namespace}/${claim?.name}`));
  const podsHere = () => view.pods.byIndex("node", node.nodeName);
  const read =
    options.references === "ask"
      ? { sources: [], done: askForReferences(podsHere, (uid) => queue.add(uid), signal) }
      : followReferences(store, podsHere, options);
  try {
    await runController(
      {
        ...{ name: "kubelet", logger, queue, concurrency: CONCURRENCY },
        sources: [
          source(view.pods, (pod) => here([pod])),
          source(view.claims, ({ metadata }) => usersOf(metadata)),
          source(view.volumes, ({ spec }) => usersOf(spec?.claimRef)),
          ...read.sources,
        ],
        reconcile: (uid) => syncPod(context, uid),
      },
      signal,
    );
  } finally {
    unfollow();
    context.prober.close();
    await read.done;
  }
}

async function syncPod(context: PodContext, uid: string): Promise<{ requeueAfterMs: number } | undefined> {
  const { volumes, signal } = context;
  for (;;) {
    signal.throwIfAborted();
    const seen = await lookAtPod(context, uid);
    if (seen === undefined) return undefined;
    if (!seen.orphaned) await reportStatus(context, seen.podView);
    const step = decidePod(seen.podView);
    if (step.do === "wait") {
      return step.milliseconds === undefined ? undefined : { requeueAfterMs: step.milliseconds + 10 };
    }
    // The volume manager wakes us when there is news of the pod's volumes.
    if (step.do === "mountVolumes") return undefined;
    await applyPodStep(context, seen, step);
    if (step.do === "releaseVolumes" && volumes.holds(uid)) return undefined;
    if (step.do === "deleteObject") return undefined;
  }
}

/** Container ids begin with the pod's uid. */
function proberOf({ view, queue, events }: PodControllerOptions): Prober {
  const podUID = (id: string) => id.slice(0, id.indexOf("_"));
  return createProber(
    (id) => queue.add(podUID(id)),
    (id, kind, message) => {
      const pod = view.pods.byIndex("uid", podUID(id))[0];
      const title = `${kind.slice(0, 1).toUpperCase()}${kind.slice(1)}`;
      if (pod !== undefined) events.event(pod, "Warning", "Unhealthy", `${title} probe failed: ${message}`);
    },
  );
}
