import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { mutate, type ObjectStore } from "@mooring/store";
import { type NodeAgent, NodeAgents } from "../../api/node-agent.ts";
import { ShareManagers } from "../../api/share-manager.ts";
import { type VolumeSpec, Volumes } from "../../api/volume.ts";
import { Bench, NODE, until, volumeObject } from "../../testing/agent.ts";
import { MIB } from "../../testing/scratch.ts";
import { twoNodes } from "../../testing/two-nodes.ts";
import { addTicket, removeTickets } from "../../tickets/tickets.ts";

type State = NonNullable<NodeAgent["status"]>["state"];

/** As an operator does who edits the object: nothing but the state. */
const type = (state: State) => (agent: NodeAgent) => {
  agent.status = { ...agent.status, state };
};

/** Writes every wrong thing about a node that lives, each until it is right again. */
async function calledLost(store: ObjectStore, name: string): Promise<void> {
  const ready = ({ status }: NodeAgent): boolean =>
    status?.state === "Ready" &&
    status.conditions?.some((c) => c.type === "Fenced" && c.status === "False") === true;
  await until(store, NodeAgents, name, ready);
  for (const state of ["Fenced", "Gone", "Suspect"] as const) {
    await mutate(store, NodeAgents, { name }, { change: type(state), subresource: "status" });
    await until(store, NodeAgents, name, ready);
  }
  const strip = ({ status: _, ...agent }: NodeAgent): NodeAgent => agent;
  await mutate(store, NodeAgents, { name }, { change: strip, subresource: "status" });
  await until(store, NodeAgents, name, ready);
  const { metadata } = await store.get(NodeAgents, { name });
  await store.delete(NodeAgents, { name });
  await until(store, NodeAgents, name, (agent) => agent.metadata.uid !== metadata.uid && ready(agent));
}

/** Every place that a volume was to be at, as long as the test runs. */
function placesOf(t: TestContext, store: ObjectStore, name: string): () => string[] {
  const stop = new AbortController();
  const places = new Set<string>();
  const watching = (async () => {
    for await (const { object } of store.watch(Volumes, { signal: stop.signal }))
      if (object.metadata.name === name) places.add(object.spec.nodeID ?? "");
  })().catch(() => {});
  t.after(async () => {
    stop.abort();
    await watching;
  });
  return () => [...places];
}

test("a volume of a local pool stays with a node that was called lost by hand, and was deleted", async (t) => {
  const bench = await Bench.open(t, "xfs", { tickets: true });
  await bench.createVolume("v-p-1");
  await bench.volume("v-p-1", "detached");
  await bench.ask("v-p-1");
  const { status } = await bench.volume("v-p-1", "attached");
  const places = placesOf(t, bench.store, "v-p-1");
  await calledLost(bench.store, NODE);
  const after = await bench.volume("v-p-1", "attached");
  assert.deepEqual([after.spec.nodeID, after.status?.device], [NODE, status?.device]);
  assert.ok(!places().includes(""));
});

test("what is in use on a node of a shared pool stays there, alone and served, when that is called lost by hand", async (t) => {
  const { store } = await twoNodes(t);
  const on = "node-1";
  const volumes: Record<string, Partial<VolumeSpec>> = {
    "v-p-1": {},
    "v-p-2": { accessMode: "rwx", fsType: "xfs", size: 320 * MIB },
  };
  const devices = new Map<string, string | undefined>();
  for (const [name, spec] of Object.entries(volumes)) {
    await store.create(Volumes, volumeObject(name, spec));
    await until(store, Volumes, name, ({ status }) => status?.state === "detached");
    await addTicket(store, name, { id: "w", type: "csi-attacher", nodeID: on }, { now: new Date() });
    const opened = await until(store, Volumes, name, ({ status }) => status?.state === "attached");
    assert.equal(opened.spec.nodeID, on);
    devices.set(name, opened.status?.device);
    // One that would like to have it, were the node lost.
    await addTicket(store, name, { id: "x", type: "csi-attacher", nodeID: "node-2" }, { now: new Date() });
  }
  const serving = () =>
    until(store, ShareManagers, "v-p-2", (s) => s.status?.state === "running" && s.status.nodeID === on);
  const { status } = await serving();
  const places = Object.keys(volumes).map((name) => placesOf(t, store, name));
  await calledLost(store, on);
  for (const [name, device] of devices) {
    const opened = await until(store, Volumes, name, (v) => v.status?.state === "attached");
    assert.deepEqual([opened.spec.nodeID, opened.status?.device], [on, device]);
  }
  assert.equal((await serving()).status?.endpoint, status?.endpoint);
  assert.ok(places.every((of) => of().every((place) => place === on)));
  for (const name of devices.keys()) {
    await removeTickets(store, name, ({ type }) => type === "csi-attacher");
    await until(store, Volumes, name, (v) => v.status?.state === "detached");
  }
});
