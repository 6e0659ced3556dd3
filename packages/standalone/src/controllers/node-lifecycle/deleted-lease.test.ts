import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { NodeAgents } from "@mooring/engine";
import { Leases, type Node, Nodes, silentLogger } from "@mooring/store";
import { eventually, nothingSleeps, thorough } from "@mooring/store/testing";
import { openClusterView } from "../cluster-view.ts";
import { conditionOf } from "../lost-node.ts";
import { openControllerStore } from "../testing/story-life.ts";
import { startNodeLifecycle } from "./index.ts";

const GRACE_MS = 1_000;
/** Less than what counts as an interruption of the controller, however late it comes. */
const BETWEEN_OBSERVATIONS_MS = 400;

test("a node that is dead is found lost although somebody has deleted its lease", thorough(), async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-lease-"));
  const { store, registry } = await openControllerStore(folder);
  registry.register({ resource: NodeAgents, hasStatus: true });
  const stop = new AbortController();
  const life = { store, logger: silentLogger, signal: stop.signal };
  const made = await store.create<Node>(Nodes, {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "dead" },
  });
  const ready = { type: "Ready", status: "True", reason: "KubeletReady" };
  await store.updateStatus<Node>(Nodes, { ...made, status: { conditions: [ready] } });
  const lease = { namespace: "kube-node-lease", name: "dead" };
  const renewTime = "2020-01-01T00:00:00.000000Z";
  await store.create(Leases, {
    ...{ apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: lease, spec: { renewTime } },
  });
  const view = await openClusterView(store, life);
  let observed = 0;
  const sinceBoot = () => BETWEEN_OBSERVATIONS_MS * observed++;
  const controller = await startNodeLifecycle({ ...life, view, graceMs: GRACE_MS, sinceBoot });
  t.after(async () => {
    stop.abort();
    await Promise.all([view.done, controller.done]);
    await store.close();
    await rm(folder, { recursive: true });
  });
  await store.delete(Leases, lease);
  const node = await eventually("it is Unknown, and tainted", async () => {
    const found = await store.get(Nodes, { name: "dead" });
    return (found.spec?.taints ?? []).length === 2 && found;
  });
  assert.equal(conditionOf(node, "Ready")?.status, "Unknown");
  await nothingSleeps({ store });
});
