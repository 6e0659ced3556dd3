import { isFencedNode, NodeAgents } from "@mooring/engine";
import {
  createInformer,
  delay,
  EventRecorder,
  Leases,
  type Logger,
  type Node,
  type ObjectStore,
} from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import { apply } from "./apply.ts";
import { decideNodeLife } from "./decide.ts";
import { Heartbeats } from "./heartbeats.ts";

export interface NodeLifecycleOptions {
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
const LOOK_EVERY_MS = 1000;

/** Says which nodes are lost, and moves pods off them as their taints and tolerations say. */
export async function startNodeLifecycle(options: NodeLifecycleOptions): Promise<{ done: Promise<void> }> {
  const { store, view, sinceBoot, graceMs, logger, signal } = options;
  const agents = createInformer(store, NodeAgents, { logger });
  const leases = createInformer(store, Leases, { namespace: LEASE_NAMESPACE, logger });
  const informers = [agents.run(signal), leases.run(signal)];
  await Promise.all([agents.synced(signal), leases.synced(signal)]);
  const events = new EventRecorder(store, { component: "node-controller", logger });
  const heartbeats = new Heartbeats(graceMs / 2);

  async function reconcile(node: Node, silentMs: number | undefined): Promise<void> {
    const { name } = node.metadata;
    const now = Date.now();
    const agent = agents.get(name);
    // One that said good-bye has its own word for that.
    const agentFenced = agent?.status?.state === "Fenced" && isFencedNode(agent);
    const pods = view.pods.byIndex("node", name);
    const steps = decideNodeLife({ node, pods, silentMs, graceMs, agentFenced, now });
    const time = `${new Date(now).toISOString().slice(0, 19)}Z`;
    for (const step of steps) {
      const pod = "pod" in step ? { pod: step.pod.metadata.name } : {};
      logger.info({ node: name, step: step.do, ...pod }, "a node's pods are looked after");
      await apply(step, node, { store, events, now: time });
    }
  }

  const done = (async () => {
    while (!signal.aborted) {
      const silence = heartbeats.look(leases.list(), sinceBoot());
      for (const node of view.nodes.list()) {
        await reconcile(node, silence.get(node.metadata.name)).catch((error: unknown) =>
          logger.warn({ err: error, node: node.metadata.name }, "cannot look after a node"),
        );
      }
      await delay(LOOK_EVERY_MS, signal).catch(() => {});
    }
    await Promise.all(informers);
    await events.flush();
  })();
  return { done };
}
