import assert from "node:assert/strict";
import { test } from "node:test";
import { metricsText } from "@mooring/csi";
import {
  CSINodes,
  CSIStorageCapacities,
  defined,
  type KubeObject,
  type Logger,
  Nodes,
  type PersistentVolume,
  PersistentVolumes,
  type Resource,
  StorageClasses,
  silentLogger,
} from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { type Harness, startHarness } from "../testing/harness.ts";
import { csiNode, DRIVER, node, storageClass } from "../testing/objects.ts";
import { nodeAffinity, type Segments } from "../topology/terms.ts";
import { capacityMetrics } from "./metrics.ts";

const late = storageClass({
  metadata: { name: "late" },
  volumeBindingMode: "WaitForFirstConsumer",
  parameters: { tier: "gold", "csi.storage.k8s.io/fstype": "xfs" },
});
const objects: [Resource, KubeObject][] = [
  [StorageClasses, late],
  [Nodes, node("n1", { zone: "a" })],
  [Nodes, node("n2", { zone: "b" })],
  [CSINodes, csiNode("n1", ["zone"])],
  [CSINodes, csiNode("n2", ["zone"])],
];
const options = { driver: { topology: true }, sidecars: { capacity: { pollMs: 20 } }, objects };
const published = async (h: Harness) =>
  (await h.store.list(CSIStorageCapacities)).items
    .map(
      ({ storageClassName, nodeTopology, capacity }) =>
        `${storageClassName} ${nodeTopology?.matchLabels?.zone} ${capacity}`,
    )
    .sort()
    .join(", ");
const shows = (h: Harness, text: string) =>
  h.until(
    text,
    async () => (await published(h)) === text,
    () => published(h),
  );

test("CSIStorageCapacities are counted under the names of external-provisioner", async (t) => {
  const of = (name: string) =>
    new RegExp(`^csistoragecapacities_${name}\\{driver_name="${DRIVER}"\\} (\\d+)$`, "m");
  const counted = () =>
    ["desired_goal", "desired_current", "obsolete"]
      .map((name) => of(name).exec(metricsText(capacityMetrics()))?.[1])
      .join();
  const h = await startHarness(t, options);
  await h.until("both are published", () => counted() === "2,2,0", counted);
  await h.stop();
  assert.equal(counted(), ",,", "it has ended");
});

test("one object per place and late-binding class, with what the driver reports, followed as it changes", async (t) => {
  const h = await startHarness(t, options);
  h.driver.availableBytes = ({ zone }) => (zone === "a" ? 1n : 2n) * 1024n ** 3n;
  await shows(h, "late a 1Gi, late b 2Gi");
  const [object] = (await h.store.list(CSIStorageCapacities)).items;
  assert.deepEqual(object?.metadata.labels, {
    "csi.storage.k8s.io/drivername": DRIVER,
    "csi.storage.k8s.io/managed-by": "external-provisioner",
  });
  const [asked] = h.driver.calls.filter(({ method }) => method === "GetCapacity");
  assert.deepEqual((asked?.request as { parameters: object } | undefined)?.parameters, { tier: "gold" });
  h.driver.availableBytes = () => 0n;
  await shows(h, "late a 0, late b 0");
  await h.restart();
  h.driver.availableBytes = () => 1024n;
  await shows(h, "late a 1Ki, late b 1Ki");
});

test("a driver without topology is asked for its capacity as a whole", async (t) => {
  covers("CSI-195");
  const h = await startHarness(t, { ...options, driver: {} });
  await h.until("it is asked", () => h.driver.called("GetCapacity") > 0);
  for (const { method, request } of h.driver.calls) {
    if (method !== "GetCapacity") continue;
    assert.equal((request as { accessibleTopology?: object }).accessibleTopology, undefined);
  }
});

test("objects of places and classes that are gone are deleted, duplicates of others too", async (t) => {
  const h = await startHarness(t, options);
  h.driver.availableBytes = () => 1024n;
  const duplicate = {
    apiVersion: "storage.k8s.io/v1",
    kind: "CSIStorageCapacity",
    metadata: {
      name: "csisc-abcde",
      namespace: "kube-system",
      labels: { "csi.storage.k8s.io/drivername": DRIVER },
    },
    storageClassName: "late",
    nodeTopology: { matchLabels: { zone: "a" } },
    capacity: "7",
  };
  await h.store.create(CSIStorageCapacities, duplicate);
  await shows(h, "late a 1Ki, late b 1Ki");
  await h.store.delete(CSINodes, { name: "n2" });
  await shows(h, "late a 1Ki");
  await h.store.create(Nodes, node("n3", { zone: "c" }));
  await h.store.create(CSINodes, csiNode("n3", ["zone"]));
  await shows(h, "late a 1Ki, late c 1Ki");
  await h.store.delete(StorageClasses, { name: "late" });
  await shows(h, "");
});

test("a driver that does not respond is logged once, what was published stays, and is followed again", async (t) => {
  const logged: string[] = [];
  const note = (_fields: object, message: string) => void logged.push(message);
  const logger: Logger = { ...silentLogger, warn: note, info: note, error: note, child: () => logger };
  const h = await startHarness(t, { ...options, sidecars: { ...options.sidecars, logger } });
  h.driver.availableBytes = () => 1024n;
  await shows(h, "late a 1Ki, late b 1Ki");
  const asked = () => h.driver.calls.filter(({ method }) => method === "GetCapacity").length;
  h.driver.availableBytes = () => assert.fail("the array is offline");
  const before = asked();
  await h.until("many requests", () => asked() > before + 10);
  assert.equal(await published(h), "late a 1Ki, late b 1Ki");
  h.driver.availableBytes = () => 2048n;
  await shows(h, "late a 2Ki, late b 2Ki");
  const old = "the driver does not report its capacity; what is published may be old";
  assert.deepEqual(
    logged.filter((line) => /capacity|reconciliation/.test(line)),
    [old, "the driver reports its capacity again"],
  );
});

test("a volume that comes has the driver asked where it is reached from, and what becomes of it later nowhere", async (t) => {
  const h = await startHarness(t, { ...options, sidecars: {} });
  h.driver.availableBytes = () => 1024n;
  await shows(h, "late a 1Ki, late b 1Ki");
  const asked = (zone: string) =>
    h.driver.calls.filter(
      ({ method, request }) =>
        method === "GetCapacity" &&
        (request as { accessibleTopology: { segments: Segments } }).accessibleTopology.segments.zone === zone,
    ).length;
  const volume = (name: string): PersistentVolume => ({
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name },
    spec: {
      accessModes: ["ReadWriteOnce"],
      capacity: { storage: "1Gi" },
      csi: { driver: DRIVER, volumeHandle: name },
      ...defined({ nodeAffinity: nodeAffinity([{ zone: "a" }]) }),
    },
  });
  for (const name of ["v1", "v2"]) {
    const before = asked("a");
    const created = await h.store.create(PersistentVolumes, volume(name));
    await h.until("it is asked of zone a", () => asked("a") > before);
    await h.store.updateStatus(PersistentVolumes, { ...created, status: { phase: "Available" } });
  }
  assert.deepEqual([asked("a"), asked("b")], [3, 1]);
});
