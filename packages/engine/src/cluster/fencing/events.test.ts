import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { Events, LocalStore, Nodes, silentLogger } from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { MOORING_API_VERSION } from "../../api/names.ts";
import { NodeAgents } from "../../api/node-agent.ts";
import { createHost } from "../../host/create-host.ts";
import { engineRegistry } from "../../testing/agent.ts";
import { scratch } from "../../testing/scratch.ts";
import { OUT_OF_SERVICE, startFencing } from "./index.ts";

test("a node that falls silent, and one that is fenced, are reported in events of their agents", async (t) => {
  const host = createHost();
  const dir = await scratch(t, host);
  const registry = engineRegistry();
  registry.register({ resource: Nodes, hasStatus: true });
  const store = await LocalStore.open({ path: join(dir, "store"), registry });
  const stop = new AbortController();
  const agent = { apiVersion: MOORING_API_VERSION, kind: "NodeAgent", metadata: { name: "n" }, spec: {} };
  const made = await store.create(NodeAgents, agent);
  const heartbeat = "2026-01-01T00:00:00Z";
  await store.updateStatus(NodeAgents, { ...made, status: { state: "Ready", heartbeat } });
  const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n" } };
  const kept = await store.create(Nodes, { ...node, spec: {} });
  const { clock } = host;
  const { signal } = stop;
  const fencing = await startFencing({ store, clock, logger: silentLogger, signal, graceMs: 100 });
  t.after(async () => {
    stop.abort();
    await fencing.done;
    await store.close();
  });
  const emitted = (reason: string) =>
    eventually(`the event ${reason}`, async () =>
      (await store.list(Events)).items.some(
        (event) => event.reason === reason && event.involvedObject.name === "n" && event.type === "Warning",
      ),
    );
  await emitted("NodeSuspect");
  const taint = { key: OUT_OF_SERVICE, effect: "NoExecute" as const };
  await store.update(Nodes, { ...kept, spec: { taints: [taint] } });
  await emitted("NodeFenced");
  assert.equal((await store.get(NodeAgents, { name: "n" })).status?.state, "Fenced");
});
