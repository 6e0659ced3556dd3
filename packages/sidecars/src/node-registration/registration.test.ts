import assert from "node:assert/strict";
import { test } from "node:test";
import { CSIDrivers, CSINodes, Events, Nodes } from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { startHarness } from "../testing/harness.ts";
import { DRIVER, node } from "../testing/objects.ts";
import { parseNodeIds } from "./decide.ts";

const NODE_IDS = "csi.volume.kubernetes.io/nodeid";
const options = {
  driver: { nodeId: "host-7", segments: { zone: "a" }, topology: true },
  sidecars: { nodeName: "n1" },
};

test("a node is known as the driver's: annotation, labels, CSINode, CSIDriver", async (t) => {
  covers("K8S-016", "K8S-017", "K8S-018", "K8S-019");
  const h = await startHarness(t, options);
  const driver = await h.until("the CSIDriver", () => h.find(CSIDrivers, DRIVER));
  assert.equal(driver.spec.attachRequired, true);
  assert.equal(driver.spec.storageCapacity, true);
  const theirs = { [NODE_IDS]: JSON.stringify({ "other.example.com": "x" }) };
  const made = await h.store.create(Nodes, { ...node("n1"), metadata: { name: "n1", annotations: theirs } });
  const csiNode = await h.until("the CSINode", () => h.find(CSINodes, "n1"));
  assert.deepEqual(csiNode.spec.drivers, [{ name: DRIVER, nodeID: "host-7", topologyKeys: ["zone"] }]);
  assert.equal(csiNode.metadata.ownerReferences?.[0]?.uid, made.metadata.uid);
  const found = await h.store.get(Nodes, { name: "n1" });
  assert.equal(found.metadata.labels?.zone, "a");
  assert.deepEqual(JSON.parse(found.metadata.annotations?.[NODE_IDS] ?? ""), {
    "other.example.com": "x",
    [DRIVER]: "host-7",
  });
});

test("what is taken away comes back, entries of other drivers stay", async (t) => {
  const h = await startHarness(t, options);
  await h.store.create(Nodes, node("n1"));
  await h.until("the CSINode", () => h.find(CSINodes, "n1"));
  const drivers = [{ name: "other.example.com", nodeID: "x", topologyKeys: ["rack"] }];
  await h.store.patch(CSINodes, { name: "n1" }, { type: "merge", body: { spec: { drivers } } });
  await h.until("both are there", async () => (await h.find(CSINodes, "n1"))?.spec.drivers.length === 2);
  const body = { metadata: { labels: { zone: null }, annotations: { [NODE_IDS]: null } } };
  await h.store.patch(Nodes, { name: "n1" }, { type: "merge", body });
  await h.until("the label is back", async () => (await h.find(Nodes, "n1"))?.metadata.labels?.zone === "a");
});

test("a driver that comes back with other limits and more topology is asked again", async (t) => {
  const driver = { ...options.driver, segments: { zone: "a" } as Record<string, string>, maxVolumes: 3 };
  const sidecars = { ...options.sidecars, nodeRegistration: { askMs: 10 } };
  const h = await startHarness(t, { driver, sidecars, objects: [[Nodes, node("n1")]] });
  const entry = async () => (await h.find(CSINodes, "n1"))?.spec.drivers[0];
  await h.until("the CSINode", async () => (await entry())?.allocatable?.count === 3);
  await h.driver.pause();
  driver.maxVolumes = 5;
  driver.segments["rack"] = "7";
  await h.driver.listen();
  await h.until("the new limit", async () => (await entry())?.allocatable?.count === 5);
  assert.deepEqual((await entry())?.topologyKeys, ["rack", "zone"]);
  assert.equal((await h.store.get(Nodes, { name: "n1" })).metadata.labels?.rack, "7");
});

test("a CSIDriver that somebody deletes comes back as it was, and not before they could make it anew", async (t) => {
  const sidecars = { ...options.sidecars, nodeRegistration: { replaceMs: 300 } };
  const h = await startHarness(t, { ...options, sidecars });
  await h.until("the CSIDriver", () => h.find(CSIDrivers, DRIVER));
  const body = {
    metadata: { labels: { chart: "x" } },
    spec: { volumeLifecycleModes: ["Persistent", "Ephemeral"], podInfoOnMount: true },
  };
  await h.store.patch(CSIDrivers, { name: DRIVER }, { type: "merge", body });
  await h.store.create(Nodes, node("n1"));
  await h.until("the CSINode", () => h.find(CSINodes, "n1"));
  // Before it is deleted: its end may be heard of before the response comes.
  const since = Date.now();
  const { metadata } = await h.store.delete(CSIDrivers, { name: DRIVER });
  const back = await h.until("it is back", () => h.find(CSIDrivers, DRIVER));
  assert.ok(Date.now() - since >= 290, "there was time to make it anew");
  assert.notEqual(back.metadata.uid, metadata.uid);
  assert.deepEqual(back.spec.volumeLifecycleModes, ["Persistent", "Ephemeral"]);
  assert.deepEqual([back.spec.podInfoOnMount, back.metadata.labels], [true, { chart: "x" }]);
});

test("what a driver's CSIDriver has may depend on its name", async (t) => {
  const csiDriver = (name: string) => (name === DRIVER ? { fsGroupPolicy: "File" } : {});
  const h = await startHarness(t, { sidecars: { nodeName: "n1", nodeRegistration: { csiDriver } } });
  const driver = await h.until("the CSIDriver", () => h.find(CSIDrivers, DRIVER));
  assert.equal(driver.spec.fsGroupPolicy, "File");
});

test("a label with another value is an error, reported on the node", async (t) => {
  const h = await startHarness(t, { ...options, objects: [[Nodes, node("n1", { zone: "b" })]] });
  await h.until("the event", async () => {
    const { items } = await h.store.list(Events);
    return items.some(({ message }) =>
      /reports topology zone=a, but the node has the label zone=b/.test(message ?? ""),
    );
  });
  assert.equal(await h.find(CSINodes, "n1"), undefined);
  await h.store.patch(
    Nodes,
    { name: "n1" },
    { type: "merge", body: { metadata: { labels: { zone: "a" } } } },
  );
  await h.until("the CSINode", () => h.find(CSINodes, "n1"));
});

test("the annotation survives nonsense", () => {
  assert.deepEqual(parseNodeIds(undefined), {});
  assert.deepEqual(parseNodeIds("{"), {});
  assert.deepEqual(parseNodeIds("[1]"), {});
  assert.deepEqual(parseNodeIds('{"a":"b"}'), { a: "b" });
});
