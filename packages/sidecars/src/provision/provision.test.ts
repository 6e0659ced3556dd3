import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, type v1 } from "@mooring/csi";
import {
  ConfigMaps,
  CSINodes,
  Events,
  type KubeObject,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  Secrets,
  StorageClasses,
  VolumeAttributesClasses,
} from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { attacherFinalizer, PV_FINALIZER, SELECTED_NODE } from "../common/names.ts";
import { type Harness, startHarness } from "../testing/harness.ts";
import { claim, csiNode, DRIVER, node, storageClass } from "../testing/objects.ts";

const plainClaim = (name: string, spec = {}, annotations = {}) => {
  const { metadata, ...rest } = claim(name, spec);
  return { ...rest, metadata: { name: metadata.name, namespace: "default", annotations } };
};
const bound = (h: Harness, name: string) =>
  h.until(
    `claim ${name} is bound`,
    async () => {
      const found = await h.find(PersistentVolumeClaims, name, "default");
      return found?.status?.phase === "Bound" && found;
    },
    () =>
      h.store.list(Events).then(({ items }) => items.map(({ reason, message }) => `${reason}: ${message}`)),
  );
const volumesGone = (h: Harness) =>
  h.until(
    "no volume and no record is left",
    async () => {
      const [volumes, records] = await Promise.all([
        h.store.list(PersistentVolumes),
        h.store.list(ConfigMaps),
      ]);
      return volumes.items.length === 0 && records.items.length === 0 && h.driver.backend.volumes.size === 0;
    },
    async () => [(await h.store.list(PersistentVolumes)).items, (await h.store.list(ConfigMaps)).items],
  );
const eventOf = (h: Harness, reason: string, message: RegExp) =>
  h.until(`event ${reason} ${message}`, async () => {
    const { items } = await h.store.list(Events);
    return items.find((event) => event.reason === reason && message.test(event.message ?? ""));
  });
const recordsGone = (h: Harness) =>
  h.until("no record is left", async () => (await h.store.list(ConfigMaps)).items.length === 0);
const remove = (h: Harness, name: string) =>
  h.store.delete(PersistentVolumeClaims, { namespace: "default", name });

const late = storageClass({ metadata: { name: "late" }, volumeBindingMode: "WaitForFirstConsumer" });
const zones: [Resource, KubeObject][] = [
  [Nodes, node("n1", { zone: "a" })],
  [Nodes, node("n2", { zone: "b" })],
  [CSINodes, csiNode("n1", ["zone"])],
  [CSINodes, csiNode("n2", ["zone"])],
];

test("a claim gets a volume, and both go when the claim is deleted", async (t) => {
  covers(
    "K8S-007",
    "K8S-023",
    "K8S-024",
    "K8S-030",
    "K8S-032",
    "K8S-033",
    "K8S-064",
    "K8S-099",
    "K8S-100",
    "CSI-077",
    "CSI-100",
    "CSI-103",
    "CSI-243",
  );
  // Nodes have places, of which a driver that does not know any learns nothing.
  const h = await startHarness(t, { objects: zones });
  await h.store.create(PersistentVolumeClaims, plainClaim("data"));
  const done = await bound(h, "data");
  const created = h.driver.calls.filter(({ method }) => method === "CreateVolume");
  assert.deepEqual(
    created.map(({ request }) => (request as v1.CreateVolumeRequest).accessibilityRequirements),
    [undefined],
  );
  const name = `pvc-${done.metadata.uid}`;
  const volume = await h.find(PersistentVolumes, name);
  assert.ok(volume);
  // The attacher is in the same process: it has nothing to add before the first attachment.
  assert.deepEqual(volume.metadata.finalizers, [PV_FINALIZER, attacherFinalizer(DRIVER)]);
  assert.deepEqual(volume.metadata.annotations, {
    "pv.kubernetes.io/provisioned-by": DRIVER,
    "volume.kubernetes.io/provisioner-deletion-secret-name": "",
    "volume.kubernetes.io/provisioner-deletion-secret-namespace": "",
  });
  const { csi, ...spec } = volume.spec ?? {};
  assert.equal(csi?.volumeHandle, [...h.driver.backend.volumes.keys()][0]);
  assert.equal(csi?.volumeAttributes?.made, "here");
  assert.match(
    csi?.volumeAttributes?.["storage.kubernetes.io/csiProvisionerIdentity"] ?? "",
    /^\d+-.*-test\.csi/,
  );
  assert.deepEqual(spec.capacity, { storage: "1Gi" });
  assert.equal(spec.persistentVolumeReclaimPolicy, "Delete");
  assert.equal(spec.storageClassName, "fast");
  assert.equal(spec.nodeAffinity, undefined, "it can be reached from every node");
  assert.equal(spec.claimRef?.uid, done.metadata.uid);
  await eventOf(h, "ProvisioningSucceeded", new RegExp(name));
  await recordsGone(h);
  await remove(h, "data");
  await volumesGone(h);
  assert.equal(h.driver.called("CreateVolume"), 1);
  assert.equal(h.driver.called("DeleteVolume"), 1);
});

test("a volume with policy Retain stays, without our finalizer once the policy is changed", async (t) => {
  covers("K8S-034");
  const h = await startHarness(t);
  await h.store.create(PersistentVolumeClaims, plainClaim("data"));
  const name = (await bound(h, "data")).spec?.volumeName ?? "";
  const body = { spec: { persistentVolumeReclaimPolicy: "Retain" } };
  await h.store.patch(PersistentVolumes, { name }, { type: "merge", body });
  await h.until(
    "the finalizer is gone",
    async () =>
      (await h.find(PersistentVolumes, name))?.metadata.finalizers?.includes(PV_FINALIZER) === false,
  );
  await remove(h, "data");
  await h.until(
    "it is released",
    async () => (await h.find(PersistentVolumes, name))?.status?.phase === "Released",
  );
  const again = { spec: { persistentVolumeReclaimPolicy: "Delete" } };
  assert.equal(h.driver.called("DeleteVolume"), 0);
  await h.store.patch(PersistentVolumes, { name }, { type: "merge", body: again });
  await volumesGone(h);
});

test("all keys of the secret go to CreateVolume and DeleteVolume, also when the class is gone", async (t) => {
  covers("K8S-106", "K8S-107", "K8S-108", "K8S-110", "K8S-111", "CSI-039", "CSI-075", "CSI-133");
  const parameters = {
    "csi.storage.k8s.io/provisioner-secret-name": "key",
    "csi.storage.k8s.io/provisioner-secret-namespace": "infra",
  };
  const h = await startHarness(t, {
    objects: [[StorageClasses, storageClass({ metadata: { name: "secret" }, parameters })]],
  });
  await h.store.create(PersistentVolumeClaims, plainClaim("data", { storageClassName: "secret" }));
  await eventOf(h, "ProvisioningFailed", /key/);
  assert.equal(h.driver.called("CreateVolume"), 0);
  const data = {
    user: Buffer.from("anna").toString("base64"),
    password: Buffer.from("geheim€").toString("base64"),
  };
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "key", namespace: "infra" }, data };
  await h.store.create(Secrets, secret);
  await bound(h, "data");
  await h.store.delete(StorageClasses, { name: "secret" });
  await remove(h, "data");
  await volumesGone(h);
  const calls = h.driver.calls.filter(({ method }) => /^(Create|Delete)Volume$/.test(method));
  for (const { request } of calls)
    assert.deepEqual((request as { secrets: object }).secrets, { user: "anna", password: "geheim€" });
  assert.equal(calls.length, 2);
  const everything = JSON.stringify([await h.store.list(Events), await h.store.list(PersistentVolumes)]);
  assert.doesNotMatch(everything, /geheim/);
});

test("final errors are repeated with back-off while the claim exists, and not after that", async (t) => {
  const h = await startHarness(t);
  h.driver.faults.add({ method: "CreateVolume", code: Code.INTERNAL, message: "disk on fire", times: 1000 });
  await h.store.create(PersistentVolumeClaims, plainClaim("data"));
  await eventOf(h, "ProvisioningFailed", /disk on fire/);
  await h.until("it is tried again", () => h.driver.called("CreateVolume") >= 3);
  await remove(h, "data");
  await volumesGone(h);
});

test("an infeasible claim is repeated rarely, and at once when its class is replaced", async (t) => {
  covers("CSI-030", "CSI-032");
  const h = await startHarness(t, { sidecars: { retry: { startMs: 5, maxMs: 10, infeasibleMs: 600_000 } } });
  h.driver.faults.add({
    method: "CreateVolume",
    code: Code.INVALID_ARGUMENT,
    times: 1000,
    when: (request) => (request as { parameters: Record<string, string> }).parameters.tier !== "gold",
  });
  await h.store.create(PersistentVolumeClaims, plainClaim("data"));
  await eventOf(h, "ProvisioningFailed", /infeasible error. Retries will be delayed/);
  await recordsGone(h);
  const { metadata } = plainClaim("data");
  const body = { metadata: { annotations: { touched: "yes" } } };
  await h.store.patch(
    PersistentVolumeClaims,
    { name: metadata.name, namespace: "default" },
    { type: "merge", body },
  );
  await h.store.delete(StorageClasses, { name: "fast" });
  await h.store.create(StorageClasses, storageClass({ parameters: { tier: "gold" } }));
  await bound(h, "data");
  assert.equal(h.driver.called("CreateVolume"), 2);
});

for (const code of [Code.CANCELLED, Code.DEADLINE_EXCEEDED, Code.UNAVAILABLE, Code.ABORTED]) {
  test(`an uncertain result (${code}) after the effect: one volume, and none when the claim is deleted meanwhile`, async (t) => {
    covers("CSI-068", "CSI-125", "CSI-241");
    const h = await startHarness(t);
    h.driver.faults.add({ method: "CreateVolume", code, effect: true, times: 3 });
    await h.store.create(PersistentVolumeClaims, plainClaim("data"));
    await bound(h, "data");
    assert.equal(h.driver.backend.volumes.size, 1);
    h.driver.faults.add({ method: "CreateVolume", code, effect: true, times: 2 });
    await h.store.create(PersistentVolumeClaims, plainClaim("other"));
    await h.until("it was called", () => h.driver.called("CreateVolume") >= 5);
    await remove(h, "other");
    await h.until("the volume is removed again", async () => h.driver.backend.volumes.size === 1);
    await recordsGone(h);
    await remove(h, "data");
    await volumesGone(h);
  });
}

test("a claim deleted during CreateVolume, its class gone and the process restarted: no volume is left", async (t) => {
  const h = await startHarness(t, { sidecars: { timeoutMs: 2_000 } });
  h.driver.faults.add({ method: "CreateVolume", delayMs: 60_000 });
  await h.store.create(PersistentVolumeClaims, plainClaim("data"));
  await h.until("the volume was made", () => h.driver.backend.volumes.size === 1);
  await remove(h, "data");
  await h.store.delete(StorageClasses, { name: "fast" });
  await h.restart();
  await volumesGone(h);
});

test("a volume that is too small, or empty although a copy was asked for, is deleted and not used", async (t) => {
  const h = await startHarness(t);
  const { backend } = h.driver;
  const make = backend.createVolume.bind(backend);
  let small = 3;
  backend.createVolume = (wanted) => {
    small -= 1;
    return make(small >= 0 ? { ...wanted, bytes: 1n } : wanted);
  };
  await h.store.create(PersistentVolumeClaims, plainClaim("data"));
  await eventOf(h, "ProvisioningFailed", /capacity 1 is less than/);
  await bound(h, "data");
  assert.equal(h.driver.called("DeleteVolume"), 3);
  assert.equal(h.driver.backend.volumes.size, 1);
});

test("WaitForFirstConsumer: waits for a node, prefers its place, and the volume has its node affinity", async (t) => {
  covers("K8S-028", "K8S-031", "K8S-095");
  const h = await startHarness(t, {
    driver: { topology: true },
    objects: [[StorageClasses, late], ...zones],
  });
  await h.store.create(PersistentVolumeClaims, plainClaim("data", { storageClassName: "late" }));
  await h.store.create(PersistentVolumeClaims, plainClaim("now"));
  await bound(h, "now");
  assert.equal(h.driver.called("CreateVolume"), 1);
  const body = { metadata: { annotations: { [SELECTED_NODE]: "n2" } } };
  await h.store.patch(
    PersistentVolumeClaims,
    { name: "data", namespace: "default" },
    { type: "merge", body },
  );
  const { spec } = await bound(h, "data");
  const volume = await h.find(PersistentVolumes, spec?.volumeName ?? "");
  assert.deepEqual(volume?.spec?.nodeAffinity?.required?.nodeSelectorTerms, [
    { matchExpressions: [{ key: "zone", operator: "In", values: ["b"] }] },
  ]);
});

test("no room on the selected node: the choice is given back to the scheduler", async (t) => {
  covers("CSI-123");
  const h = await startHarness(t, {
    driver: { topology: true },
    objects: [[StorageClasses, late], ...zones],
  });
  h.driver.faults.add({ method: "CreateVolume", code: Code.RESOURCE_EXHAUSTED, message: "full" });
  await h.store.create(
    PersistentVolumeClaims,
    plainClaim("data", { storageClassName: "late" }, { [SELECTED_NODE]: "n1" }),
  );
  const key = { name: "data", namespace: "default" };
  await h.until("the annotation is gone", async () => {
    const { metadata } = await h.store.get(PersistentVolumeClaims, key);
    return metadata.annotations?.[SELECTED_NODE] === undefined;
  });
  await recordsGone(h);
  await eventOf(h, "ProvisioningFailed", /full; another node/);
  const body = { metadata: { annotations: { [SELECTED_NODE]: "n2" } } };
  await h.store.patch(PersistentVolumeClaims, key, { type: "merge", body });
  await bound(h, "data");
});

test("the node and its CSINode vanish while a call is uncertain: the same arguments are repeated", async (t) => {
  const h = await startHarness(t, {
    driver: { topology: true },
    objects: [[StorageClasses, late], ...zones],
  });
  h.driver.faults.add({ method: "CreateVolume", code: Code.UNAVAILABLE, effect: true, times: 4 });
  await h.store.create(
    PersistentVolumeClaims,
    plainClaim("data", { storageClassName: "late" }, { [SELECTED_NODE]: "n1" }),
  );
  await h.until("it was called", () => h.driver.called("CreateVolume") >= 1);
  await h.store.delete(Nodes, { name: "n1" });
  await h.store.delete(CSINodes, { name: "n1" });
  await bound(h, "data");
  assert.equal(h.driver.backend.volumes.size, 1);
});

test("claims of other provisioners and other classes are left alone; foreign data sources are announced", async (t) => {
  const h = await startHarness(t, {
    objects: [
      [StorageClasses, storageClass({ metadata: { name: "other" }, provisioner: "other.example.com" })],
    ],
  });
  await h.store.create(PersistentVolumeClaims, plainClaim("other", { storageClassName: "other" }));
  const dataSourceRef = { apiGroup: "x.example.com", kind: "Backup", name: "b" };
  await h.store.create(PersistentVolumeClaims, plainClaim("populated", { dataSourceRef }));
  await h.store.create(PersistentVolumeClaims, plainClaim("data"));
  await bound(h, "data");
  await eventOf(h, "Provisioning", /Assuming an external populator/);
  assert.equal(h.driver.called("CreateVolume"), 1);
});

test("a claim whose classes are made after it is provisioned at once, not at the next attempt", async (t) => {
  const never = 3_600_000;
  const h = await startHarness(t, {
    driver: { can: ["CREATE_DELETE_VOLUME", "MODIFY_VOLUME"] },
    sidecars: { retry: { startMs: never, maxMs: never, infeasibleMs: never } },
  });
  const spec = { storageClassName: "later", volumeAttributesClassName: "gold" };
  await h.store.create(PersistentVolumeClaims, plainClaim("early", spec));
  await h.store.create(StorageClasses, storageClass({ metadata: { name: "later" } }));
  await eventOf(h, "ProvisioningFailed", /VolumeAttributesClass gold does not exist/);
  await h.store.create(VolumeAttributesClasses, {
    apiVersion: "storage.k8s.io/v1",
    kind: "VolumeAttributesClass",
    metadata: { name: "gold" },
    driverName: DRIVER,
    parameters: { tier: "gold" },
  });
  await bound(h, "early");
  await remove(h, "early");
  await volumesGone(h);
});

test("a cluster without VolumeAttributesClasses provisions all claims that name none", async (t) => {
  const h = await startHarness(t, {
    driver: { can: ["CREATE_DELETE_VOLUME", "MODIFY_VOLUME"] },
    without: [VolumeAttributesClasses],
  });
  await h.store.create(PersistentVolumeClaims, plainClaim("data"));
  await bound(h, "data");
});
