import assert from "node:assert/strict";
import { test } from "node:test";
import { Code } from "@mooring/csi";
import {
  ConfigMaps,
  CSIStorageCapacities,
  Events,
  KubeVolumeAttachments,
  Leases,
  PersistentVolumeClaims,
  PersistentVolumes,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { nothingSleeps, thorough } from "@mooring/store/testing";
import { SELECTED_NODE, SNAPSHOT_MANAGED_BY } from "./common/names.ts";
import { startSidecars } from "./start.ts";
import { until } from "./testing/harness.ts";
import { DELAYS, NAMES, startWorld, type World } from "./testing/node-deployment.ts";
import { volumeSnapshot } from "./testing/objects.ts";
import { ScriptedDriver } from "./testing/scripted-driver.ts";

const called = ({ drivers }: World, method: string) => NAMES.map((name) => drivers[name].called(method));
const eventsOf = async ({ store }: World, reason: string) =>
  (await store.list(Events)).items.filter((event) => event.reason === reason).map(({ message }) => message);

test(
  "each claim is made once, on one node: where the scheduler wants it, else on the one that takes it first",
  thorough(),
  async (t) => {
    const world = await startWorld(t);
    await Promise.all(Array.from({ length: 20 }, (_, index) => world.create(`claim-${index}`)));
    await world.create("late", { storageClassName: "late" });
    await world.create("placed", { storageClassName: "late" }, { [SELECTED_NODE]: "n2" });
    assert.equal(await world.placeOf("placed"), "n2");
    for (let index = 0; index < 20; index += 1) {
      const name = `claim-${index}`;
      const place = await world.placeOf(name);
      const { metadata } = await world.store.get(PersistentVolumeClaims, { name, namespace: "default" });
      assert.equal(metadata.annotations?.[SELECTED_NODE], place);
    }
    const [first = 0, second = 0] = called(world, "CreateVolume");
    assert.equal(first + second, 21);
    const late = await world.store.get(PersistentVolumeClaims, { name: "late", namespace: "default" });
    assert.equal(late.metadata.annotations?.[SELECTED_NODE], undefined, "its pod has no node yet");
    const records = await world.store.list(ConfigMaps);
    await until(
      "no call is open",
      async () => (await world.store.list(ConfigMaps)).items.length === 0,
      () => records,
    );
    await nothingSleeps();
  },
);

test(
  "a full node leaves claims to others, and when all are full users get an event, and their volume when there is room",
  thorough(),
  async (t) => {
    const world = await startWorld(t);
    world.drivers.n1.availableBytes = () => 0n;
    await Promise.all(["a", "b", "c"].map((name) => world.create(name)));
    for (const name of ["a", "b", "c"]) assert.equal(await world.placeOf(name), "n2");
    world.drivers.n2.availableBytes = () => 0n;
    await world.create("waiting");
    await until("both nodes have said so", async () => {
      const messages = await eventsOf(world, "ProvisioningFailed");
      return NAMES.every((name) =>
        messages.includes(`node ${name} has no room for 1 GiB, and no other node has taken the claim`),
      );
    });
    assert.deepEqual(called(world, "CreateVolume"), [0, 3]);
    world.drivers.n1.availableBytes = () => 2n ** 31n;
    assert.equal(await world.placeOf("waiting"), "n1");
  },
);

test(
  "where a node finds out too late that it is full, another one takes the claim",
  thorough(),
  async (t) => {
    const world = await startWorld(t);
    const faults = { method: "CreateVolume", code: Code.RESOURCE_EXHAUSTED, times: Number.POSITIVE_INFINITY };
    world.drivers.n2.faults.add(faults);
    await Promise.all(["a", "b", "c", "d"].map((name) => world.create(name)));
    for (const name of ["a", "b", "c", "d"]) assert.equal(await world.placeOf(name), "n1");
    assert.equal(world.drivers.n2.backend.volumes.size, 0);
  },
);

test(
  "growth, snapshots, restores, attachments, deletions: each by the driver of the volume's node",
  thorough(),
  async (t) => {
    const world = await startWorld(t);
    const { drivers, store } = world;
    await world.create("data", { storageClassName: "late" }, { [SELECTED_NODE]: "n2" });
    assert.equal(await world.placeOf("data"), "n2");
    const { spec } = await store.get(PersistentVolumeClaims, { name: "data", namespace: "default" });
    const body = { spec: { resources: { requests: { storage: "2Gi" } } } };
    await store.patch(
      PersistentVolumeClaims,
      { name: "data", namespace: "default" },
      { type: "merge", body },
    );
    await until("it has grown", () =>
      [...drivers.n2.backend.volumes.values()].some(({ bytes }) => bytes === 2n ** 31n),
    );
    const source = { persistentVolumeName: spec?.volumeName ?? "" };
    await store.create(KubeVolumeAttachments, {
      ...{ apiVersion: "storage.k8s.io/v1", kind: "VolumeAttachment", metadata: { name: "attached" } },
      spec: { attacher: "test.csi.example.com", nodeName: "n2", source },
    });
    await until(
      "it is attached",
      async () => (await store.get(KubeVolumeAttachments, { name: "attached" })).status?.attached,
    );

    const snapshot = volumeSnapshot("snap", {
      ...{ volumeSnapshotClassName: "snaps", source: { persistentVolumeClaimName: "data" } },
    });
    await store.create(VolumeSnapshots, { ...snapshot, metadata: { name: "snap", namespace: "default" } });
    await until("it is ready", async () => {
      const found = await store.get(VolumeSnapshots, { name: "snap", namespace: "default" });
      return found.status?.readyToUse;
    });
    const [content] = (await store.list(VolumeSnapshotContents)).items;
    assert.equal(content?.metadata.labels?.[SNAPSHOT_MANAGED_BY], "n2");
    const dataSource = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "snap" };
    const resources = { requests: { storage: "2Gi" } };
    await world.create("restored", { dataSource, resources });
    await world.create("clone", { dataSource: { kind: "PersistentVolumeClaim", name: "data" }, resources });
    // Nobody has to choose a node: only one can make the copy.
    assert.equal(await world.placeOf("restored"), "n2");
    assert.equal(await world.placeOf("clone"), "n2");

    await store.delete(KubeVolumeAttachments, { name: "attached" });
    await store.delete(VolumeSnapshots, { name: "snap", namespace: "default" });
    for (const name of ["data", "restored", "clone"])
      await store.delete(PersistentVolumeClaims, { name, namespace: "default" });
    await until("nothing is left", async () => {
      const left = [await store.list(PersistentVolumes), await store.list(VolumeSnapshotContents)];
      const { snapshots, volumes } = drivers.n2.backend;
      return left.every(({ items }) => items.length === 0) && snapshots.size + volumes.size === 0;
    });
    for (const method of [
      "CreateVolume",
      "ControllerExpandVolume",
      "ControllerPublishVolume",
      "CreateSnapshot",
    ])
      assert.equal(drivers.n1.called(method), 0, method);
    for (const method of ["DeleteVolume", "DeleteSnapshot", "ControllerUnpublishVolume"])
      assert.equal(drivers.n1.called(method), 0, method);
    await nothingSleeps();
  },
);

test(
  "each node publishes its own capacity, which goes with the node, and leaves that of others",
  thorough(),
  async (t) => {
    const world = await startWorld(t, { sidecars: { capacity: { pollMs: 20 } } });
    world.drivers.n1.availableBytes = () => 3n * 2n ** 30n;
    const published = async () =>
      (await world.store.list(CSIStorageCapacities)).items
        .map(({ capacity, metadata, nodeTopology }) => {
          const owner = metadata.ownerReferences?.map(({ kind, name }) => `${kind}/${name}`).join();
          return `${nodeTopology?.matchLabels?.host} ${capacity} ${metadata.labels?.["csi.storage.k8s.io/managed-by"]} ${owner}`;
        })
        .sort();
    const wanted = ["n1 3Gi external-provisioner-n1 Node/n1", "n2 10Gi external-provisioner-n2 Node/n2"];
    await until(
      "both are published",
      async () => JSON.stringify(await published()) === JSON.stringify(wanted),
      published,
    );
    await world.stop("n2");
    const polls = world.drivers.n1.called("GetCapacity");
    await until("the other goes on", () => world.drivers.n1.called("GetCapacity") > polls + 2);
    assert.deepEqual(await published(), wanted);
  },
);

test(
  "what a node has asked its driver for is ended by that node, and no other one begins it meanwhile",
  thorough(),
  async (t) => {
    const world = await startWorld(t);
    world.drivers.n1.faults.add({ method: "CreateVolume", code: Code.UNAVAILABLE, effect: true, times: 1 });
    await world.stop("n2");
    world.drivers.n1.faults.add({
      method: "CreateVolume",
      code: Code.UNAVAILABLE,
      times: Number.POSITIVE_INFINITY,
    });
    await world.create("data", {}, { [SELECTED_NODE]: "n1" });
    await until("it was asked for", () => world.drivers.n1.called("CreateVolume") > 1);
    await world.stop("n1");
    await world.start("n2");
    const key = { name: "data", namespace: "default" };
    const body = { metadata: { annotations: { [SELECTED_NODE]: "n2" } } };
    await world.store.patch(PersistentVolumeClaims, key, { type: "merge", body });
    await nothingSleeps();
    assert.deepEqual(world.drivers.n2.called("CreateVolume"), 0);
    world.drivers.n1.faults.clear();
    await world.start("n1");
    assert.equal(await world.placeOf("data"), "n1");
    assert.equal(world.drivers.n1.backend.volumes.size, 1);
    assert.deepEqual(world.drivers.n2.called("CreateVolume"), 0);
  },
);

test(
  "one of the nodes does what is to be done once, and another one when that ends",
  thorough(),
  async (t) => {
    const world = await startWorld(t);
    const holder = async () =>
      (await world.store.list(Leases)).items.find(({ spec }) => spec?.holderIdentity)?.spec?.holderIdentity;
    const before = await until("one leads", holder);
    for (const name of NAMES) {
      await world.stop(name);
      await world.start(name);
    }
    await until("another one leads", async () => (await holder()) !== before);
  },
);

test(
  "no immediate claims are taken where that is switched off, and a driver without places is refused",
  thorough(),
  async (t) => {
    const world = await startWorld(t, {
      sidecars: { nodeDeployment: { ...DELAYS, immediateBinding: false } },
    });
    await world.create("immediate");
    await world.create("placed", {}, { [SELECTED_NODE]: "n1" });
    assert.equal(await world.placeOf("placed"), "n1");
    await nothingSleeps();
    const { metadata } = await world.store.get(PersistentVolumeClaims, {
      name: "immediate",
      namespace: "default",
    });
    assert.equal(metadata.annotations?.[SELECTED_NODE], undefined);
    const everywhere = await ScriptedDriver.start();
    t.after(() => everywhere.stop());
    const { endpoint } = everywhere;
    const stop = new AbortController();
    const { done } = await startSidecars({
      ...{ store: world.store, endpoint, nodeName: "n3", nodeDeployment: {}, signal: stop.signal },
    });
    await assert.rejects(done, /driver test\.csi\.example\.com does not say where its volumes are/);
  },
);
