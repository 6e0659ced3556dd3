import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { CSIDrivers, CSINodes, Events, Nodes } from "@mooring/store";
import { covers, thorough, eventually as until } from "@mooring/store/testing";
import { TEST_DRIVER } from "../testing/directory-driver.ts";
import { type RegisteringDriver, startRegisteringDriver } from "../testing/registering-driver.ts";
import { eventually, NODE, Pods, phase, pod } from "../testing/test-cluster.ts";
import { FOREVER, volumeCluster } from "../testing/volume-cluster.ts";

const VENDOR = "vendor.example.com";
const drivers: RegisteringDriver[] = [];
// Before the cluster's own: its stop finds out whether it can end without them.
after(async () => {
  for (const driver of drivers) await driver.stop();
});
const { cluster, folder, remove } = await volumeCluster({ registers: true });
const { store } = cluster;
const kubelet = join(folder, "kubelet");
const registry = join(kubelet, "plugins_registry");

async function vendor(name: string): Promise<RegisteringDriver> {
  const driver = await startRegisteringDriver(kubelet, name);
  drivers.push(driver);
  await store.create(CSIDrivers, {
    ...{ apiVersion: "storage.k8s.io/v1", kind: "CSIDriver", metadata: { name } },
    spec: { attachRequired: false, volumeLifecycleModes: ["Ephemeral"] },
  });
  return driver;
}

const entryOf = async (name: string) => {
  const csiNode = await store.get(CSINodes, { name: NODE }).catch(() => undefined);
  return csiNode?.spec.drivers.find((each) => each.name === name);
};
const onNode = (name: string, id: string | undefined) =>
  until(`${name} to be ${id} on the node`, async () => (await entryOf(name))?.nodeID === id);
const isReported = (reason: string, about: RegExp) =>
  until(`${reason} about ${about}`, async () => {
    const { items } = await store.list(Events);
    return items.some((each) => each.reason === reason && about.test(each.message ?? ""));
  });

function inlinePod(name: string, driver: string) {
  const made = pod(name, FOREVER, { volumes: [{ name: "scratch", csi: { driver } }] });
  const containers = (made.spec?.containers ?? []).map((each) => ({
    ...each,
    volumeMounts: [{ name: "scratch", mountPath: "/scratch" }],
  }));
  return { ...made, spec: { ...made.spec, containers } };
}

test(
  "a driver that registers itself serves pods; gone with a volume in use it is reported, and goes on when it is back",
  thorough(),
  async () => {
    const driver = await vendor(VENDOR);
    await store.create(Pods, inlinePod("early", VENDOR));
    await isReported("FailedMount", new RegExp(`${VENDOR} not found in the list of registered CSI drivers`));
    await driver.register();
    await onNode(VENDOR, `id-of-${VENDOR}`);
    await isReported("CSIDriverRegistered", new RegExp(`registered CSI driver ${VENDOR}`));
    await until("the driver hears it", () => driver.statuses.at(-1) === "");
    await eventually(store, Pods, "early", phase("Running"));

    await driver.leave();
    await isReported("CSIDriverLeft", /1 of its volumes are in use on this node: pods keep them/);
    await onNode(VENDOR, undefined);
    const { annotations = {} } = (await store.get(Nodes, { name: NODE })).metadata;
    assert.deepEqual(JSON.parse(annotations["csi.volume.kubernetes.io/nodeid"] ?? "{}"), {
      [TEST_DRIVER]: NODE,
    });
    await store.delete(Pods, { namespace: "default", name: "early" });
    await isReported("CSIDriverLeft", new RegExp(VENDOR));
    assert.ok(!driver.calls.includes("NodeUnpublishVolume"));

    driver.move("another");
    await driver.register();
    await onNode(VENDOR, "another");
    await eventually(store, Pods, "early", (object) => object === undefined);
    await until("its volume to be taken away", () => driver.calls.at(-1) === "NodeUnpublishVolume");

    driver.move("the same socket, made anew");
    await rm(join(registry, `${VENDOR}-reg.sock`));
    await driver.register();
    await onNode(VENDOR, "the same socket, made anew");
  },
);

test(
  "one that never responds, one under a name that is taken and one of another kind harm no other, and are reported",
  thorough(),
  async (t) => {
    covers("K8S-015");
    const connections = new Set<Socket>();
    const silent = createServer((each) => {
      connections.add(each);
      each.once("close", () => connections.delete(each)).resume();
    });
    silent.listen(join(registry, "silent-reg.sock"));
    t.after(() => silent.close());
    const twin = await startRegisteringDriver(kubelet, TEST_DRIVER, { socket: "twin.sock" });
    drivers.push(twin);
    await twin.register();
    await isReported("CSIDriverNotRegistered", /twin\.sock: driver dir\.test\.mooring\.dev is Mooring's own/);
    await until("it hears it", () => /is Mooring's own/.test(twin.statuses.at(-1) ?? ""));
    await twin.stop();
    for (const name of ["a/b", "n".repeat(64)]) {
      const nameless = await startRegisteringDriver(kubelet, name, { socket: "nameless.sock" });
      drivers.push(nameless);
      await nameless.register();
      await isReported("CSIDriverNotRegistered", new RegExp(`"${name}" is no name of a CSI driver`));
      await until("it hears it", () => /is no name of a CSI driver/.test(nameless.statuses.at(-1) ?? ""));
      assert.equal(await entryOf(name), undefined);
      await nameless.stop();
    }
    const driver = await vendor("beside.example.com");
    await driver.register();
    await onNode("beside.example.com", "id-of-beside.example.com");
    const second = await startRegisteringDriver(kubelet, "beside.example.com", { socket: "second.sock" });
    drivers.push(second);
    await second.register();
    await until("it hears it", () => /registered by .*-reg\.sock already/.test(second.statuses.at(-1) ?? ""));
    await store.create(Pods, inlinePod("beside", "beside.example.com"));
    await eventually(store, Pods, "beside", phase("Running"));
    await isReported("CSIDriverNotRegistered", /silent-reg\.sock did not respond within 10000 ms/);
    await until("no connection to it is kept", () => connections.size === 0);
    await remove("beside");
    await driver.leave();
    await until("the other's turn", () => second.statuses.at(-1) === "");
  },
);

test(
  "what comes and goes while the kubelet does not run is found by its next start, which does not wait for those who left",
  thorough(),
  async () => {
    const stays = await vendor("stays.example.com");
    const goes = await vendor("goes.example.com");
    await Promise.all([stays.register(), goes.register()]);
    await onNode("goes.example.com", "id-of-goes.example.com");
    await store.create(Pods, inlinePod("kept", "goes.example.com"));
    await eventually(store, Pods, "kept", phase("Running"));
    await goes.leave();
    await isReported("CSIDriverLeft", /goes\.example\.com has left.* 1 of its volumes/);
    // Ends although a volume of it is left.
    await cluster.stopKubelet();
    assert.ok(!goes.calls.includes("NodeUnpublishVolume"));
    await stays.leave();
    await goes.register();
    await cluster.startKubelet();
    await onNode("stays.example.com", undefined);
    await onNode("goes.example.com", "id-of-goes.example.com");
    await remove("kept");
    await until("its volume to be taken away", () => goes.calls.at(-1) === "NodeUnpublishVolume");
  },
);
