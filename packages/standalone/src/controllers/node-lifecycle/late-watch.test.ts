import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type NodeAgent, NodeAgents } from "@mooring/engine";
import { apiVersionOf, type Node, Nodes, type ObjectStore, Pods, silentLogger } from "@mooring/store";
import { eventually, nothingSleeps } from "@mooring/store/testing";
import { openClusterView } from "../cluster-view.ts";
import { openControllerStore } from "../testing/story-life.ts";
import { startNodeLifecycle } from "./index.ts";

const GRACE_MS = 1_000;
/** Less than what counts as an interruption of the controller, however late it comes. */
const BETWEEN_OBSERVATIONS_MS = 400;
const NODE = "dead";

/** What happens to agents is delivered only once `due` has settled, as on a machine that has much else to do. */
function deliveringLate<S extends ObjectStore>(store: S, due: Promise<void>): S {
  const watch: ObjectStore["watch"] = async function* (resource, options) {
    for await (const event of store.watch(resource, options)) {
      if (resource.kind === NodeAgents.kind) await due;
      yield event;
    }
  };
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = name === "watch" ? watch : Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

async function makeLostNode(store: ObjectStore): Promise<void> {
  const made = await store.create<Node>(Nodes, { apiVersion: "v1", kind: "Node", metadata: { name: NODE } });
  const ready = { type: "Ready", status: "True", reason: "KubeletReady" };
  await store.updateStatus<Node>(Nodes, { ...made, status: { conditions: [ready] } });
  await store.create<NodeAgent>(NodeAgents, {
    ...{ apiVersion: apiVersionOf(NodeAgents), kind: NodeAgents.kind },
    ...{ metadata: { name: NODE }, spec: {} },
  });
  const key = { namespace: "default", name: "to-go" };
  const spec = { nodeName: NODE, containers: [{ name: "main", image: "host" }] };
  await store.create(Pods, { apiVersion: "v1", kind: "Pod", metadata: key, spec });
  await store.delete(Pods, key);
}

test("a lost node is marked as evicted once, however late its controller hears of that", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-late-"));
  const { store, registry } = await openControllerStore(folder);
  registry.register({ resource: NodeAgents, hasStatus: true });
  await makeLostNode(store);
  let deliver = () => {};
  const late = deliveringLate(store, new Promise<void>((resolve) => (deliver = resolve)));
  const stop = new AbortController();
  let marks = 0;
  const logger = {
    ...silentLogger,
    info: (of: unknown) => {
      if ((of as { step?: string }).step === "mark-evicted") marks += 1;
    },
  };
  const life = { store: late, logger, signal: stop.signal };
  const view = await openClusterView(late, life);
  let observed = 0;
  const sinceBoot = () => BETWEEN_OBSERVATIONS_MS * observed++;
  const controller = await startNodeLifecycle({ ...life, view, graceMs: GRACE_MS, sinceBoot });
  t.after(async () => {
    deliver();
    stop.abort();
    await Promise.all([view.done, controller.done]);
    await store.close();
    await rm(folder, { recursive: true });
  });
  await eventually("the node to be marked", () => marks > 0);
  const until = observed + 2;
  await eventually("the node to be read twice more", () => observed > until);
  assert.equal(marks, 1);
  deliver();
  await nothingSleeps({ store });
});
