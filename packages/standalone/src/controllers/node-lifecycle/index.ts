import { NodeAgents } from "@mooring/engine";
import {
  createInformer,
  delay,
  EventRecorder,
  isConflict,
  isNotFound,
  type KubeObject,
  Leases,
  type Logger,
  type ObjectStore,
  openInformers,
  Reconciler,
  source,
  stepFailpoints,
  WrittenCache,
} from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import { apply } from "./apply.ts";
import { decideStep, type NodeLifeStep, type NodeLifeView } from "./decide.ts";
import { Heartbeats } from "./heartbeats.ts";
import { readNode } from "./read.ts";

const failpoints = stepFailpoints<NodeLifeStep>("standalone/node-lifecycle", {
  "mark-unknown": true,
  "mark-fenced": true,
  taint: true,
  "mark-evicted": true,
  evict: true,
  remove: true,
});

interface NodeLifecycleOptions {
  store: ObjectStore;
  view: ClusterView;
  /** Milliseconds since boot. */
  sinceBoot: () => number;
  /** A node whose lease is not renewed for so long is lost. */
  graceMs: number;
  logger: Logger;
  signal: AbortSignal;
}

/** Where kubelets renew the leases of their nodes. */
const LEASE_NAMESPACE = "kube-node-lease";
const CHECK_EVERY_MS = 1000;

const nameOf = ({ metadata }: KubeObject): string => metadata.name;

/** Steps in one round: conditions and taints of the node, and one for each of the pods that it may have. */
const MOST_STEPS = 1_000;

/** Reports which nodes are lost, and moves pods off them by their taints and tolerations. Keys are names of nodes. */
export async function startNodeLifecycle(options: NodeLifecycleOptions): Promise<{ done: Promise<void> }> {
  const { store, view, sinceBoot, graceMs, logger, signal } = options;
  const agentsInformer = createInformer(store, NodeAgents, { logger });
  const leases = createInformer(store, Leases, { namespace: LEASE_NAMESPACE, logger });
  const informers = await openInformers([agentsInformer, leases], signal);
  const events = new EventRecorder(store, { component: "node-controller", logger });
  const heartbeats = new Heartbeats(graceMs / 2);
  const observe = () => heartbeats.observe(view.nodes.list().map(nameOf), leases.list(), sinceBoot());
  let silence = observe();
  const nodes = new WrittenCache(store, view.nodes);
  const pods = new WrittenCache(store, view.pods);
  const agents = new WrittenCache(store, agentsInformer);
  const from = { nodes, pods, agents, graceMs, silentMs: (name: string) => silence.get(name) };
  const controller = new Reconciler<NodeLifeView, NodeLifeStep>({
    ...{ name: "node-lifecycle", store, logger, failpoints, mostSteps: MOST_STEPS },
    sources: [source(view.nodes, ({ metadata }) => [metadata.name])],
    watched: [view.pods, agentsInformer],
    read: (name, context) => readNode(name, from, context),
    decide: decideStep,
    async apply(step, { node, now }) {
      const pod = "pod" in step ? { pod: step.pod.metadata.name } : {};
      logger.info({ node: node.metadata.name, step: step.do, ...pod }, "made a step for a node");
      const time = `${new Date(now).toISOString().slice(0, 19)}Z`;
      await apply(step, node, { store, events, nodes, pods, agents, now: time });
    },
    isOutdated: (error) => isConflict(error) || isNotFound(error),
  });
  async function watchTime(): Promise<void> {
    while (!signal.aborted) {
      silence = observe();
      for (const node of view.nodes.list()) controller.add(node.metadata.name);
      await delay(CHECK_EVERY_MS, signal).catch(() => {});
    }
  }
  const done = Promise.all([controller.run(signal), watchTime(), informers.done]).then(() => events.flush());
  return { done };
}
