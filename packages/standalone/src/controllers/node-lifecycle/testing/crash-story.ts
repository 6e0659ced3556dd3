// One life of the controller of silent nodes, for a test that kills it: a node falls silent, its agent is fenced, and the life
// exits with 0 when its pod is gone. Argument: the state folder.
import assert from "node:assert/strict";
import { type NodeAgent, NodeAgents } from "@mooring/engine";
import { apiVersionOf, getIfAny, Leases, type Node, Nodes, Pods } from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { openClusterView } from "../../cluster-view.ts";
import { conditionOf, FENCED_CONDITION } from "../../lost-node.ts";
import { beginStoryLife } from "../../testing/story-life.ts";
import { UNREACHABLE } from "../decide.ts";
import { startNodeLifecycle } from "../index.ts";

const NODE = "lost";
const GRACE_MS = 1_000;
/** Less than what counts as an interruption of the controller, however late it comes. */
const BETWEEN_OBSERVATIONS_MS = 400;
const POD = { namespace: "default", name: "on-lost" };

const FENCED: NonNullable<NodeAgent["status"]> = {
  state: "Fenced",
  conditions: [
    {
      type: "Fenced",
      status: "True",
      reason: "Story",
      message: "",
      lastTransitionTime: "2020-01-01T00:00:00Z",
    },
  ],
};

const life = await beginStoryLife();
const { store, ensure, once } = life;
life.registry.register({ resource: NodeAgents, hasStatus: true });

await once("scene", async () => {
  await ensure(Nodes, { apiVersion: "v1", kind: "Node", metadata: { name: NODE } });
  const ready = { type: "Ready", status: "True", reason: "KubeletReady" };
  await store.updateStatus<Node>(Nodes, {
    ...(await store.get(Nodes, { name: NODE })),
    status: { conditions: [ready] },
  });
  await ensure(Leases, {
    ...{ apiVersion: "coordination.k8s.io/v1", kind: "Lease" },
    metadata: { namespace: "kube-node-lease", name: NODE },
    spec: { holderIdentity: NODE, renewTime: "2020-01-01T00:00:00.000000Z" },
  });
  const containers = [{ name: "main", image: "host" }];
  // Without one of its own a pod is given a toleration of five minutes.
  const tolerations = [{ key: UNREACHABLE, operator: "Exists", effect: "NoExecute", tolerationSeconds: 0 }];
  const spec = { nodeName: NODE, containers, tolerations };
  await ensure(Pods, { apiVersion: "v1", kind: "Pod", metadata: POD, spec });
  await ensure<NodeAgent>(NodeAgents, {
    ...{ apiVersion: apiVersionOf(NodeAgents), kind: NodeAgents.kind },
    ...{ metadata: { name: NODE }, spec: {} },
  });
  const agent = await store.get(NodeAgents, { name: NODE });
  await store.updateStatus<NodeAgent>(NodeAgents, { ...agent, status: FENCED });
});

let observed = 0;
const view = await openClusterView(store, life);
const controller = await startNodeLifecycle({
  ...{ ...life, view, graceMs: GRACE_MS },
  sinceBoot: () => BETWEEN_OBSERVATIONS_MS * observed++,
});
await eventually("the pod is gone", async () => (await getIfAny(store, Pods, POD)) === undefined);
const node = await store.get(Nodes, { name: NODE });
assert.equal(conditionOf(node, "Ready")?.status, "Unknown");
assert.equal(conditionOf(node, FENCED_CONDITION)?.status, "True");
assert.deepEqual(
  node.spec?.taints?.map(({ key, effect }) => [key, effect]),
  [
    [UNREACHABLE, "NoSchedule"],
    [UNREACHABLE, "NoExecute"],
  ],
);
await life.end([view, controller]);
