import assert from "node:assert/strict";
import { test } from "node:test";
import { Code } from "@mooring/csi";
import {
  CSINodes,
  Events,
  type KubeObject,
  KubeVolumeAttachments,
  type ObjectKey,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  reconcileCounts,
  VolumeSnapshotClasses,
  VolumeSnapshots,
} from "@mooring/store";
import { covers, nothingSleeps } from "@mooring/store/testing";
import { PV_FINALIZER } from "../common/names.ts";
import { type Harness, startHarness } from "../testing/harness.ts";
import { csiNode, DRIVER, persistentVolume, snapshotClass } from "../testing/objects.ts";
import { pvc, start, vs } from "../testing/snapshot-world.ts";

/** Delays so short that a repetition would come many times while the object is touched. */
const sidecars = { retry: { startMs: 1, maxMs: 2, infeasibleMs: 2 } };
const objects: [Resource, KubeObject][] = [[CSINodes, csiNode("n1")]];

function refuse(h: Harness, method: string): void {
  const times = Number.POSITIVE_INFINITY;
  h.driver.faults.add({ method, code: Code.UNIMPLEMENTED, message: `${method} is not there`, times });
}
const reported = (h: Harness, message: RegExp) =>
  h.until(`an event ${message}`, async () =>
    (await h.store.list(Events)).items.some((event) => message.test(event.message ?? "")),
  );
/** Touches the object again and again, each time until its controller has taken it up, which must not lead to a call. */
async function touch(h: Harness, controller: string, resource: Resource, key: ObjectKey): Promise<void> {
  const taken = () => {
    const { reconciled = 0, failures = 0 } = reconcileCounts().get(controller) ?? {};
    return reconciled + failures;
  };
  for (let n = 0; n < 5; n += 1) {
    const before = taken();
    const body = { metadata: { annotations: { touched: String(n) } } };
    await h.store.patch(resource, key, { type: "merge", body });
    await h.until(`${controller} to take up ${key.name}`, () => taken() > before);
  }
  await nothingSleeps({ idle: true });
}
const attachment = {
  apiVersion: "storage.k8s.io/v1",
  kind: "VolumeAttachment",
  metadata: { name: "a" },
  spec: { attacher: DRIVER, nodeName: "n1", source: { persistentVolumeName: "pv" } },
};
async function volume(h: Harness): Promise<void> {
  const { id } = h.driver.backend.createVolume({ name: "v", bytes: 1n, fingerprint: "", topology: [] });
  const { metadata, ...rest } = persistentVolume("pv", { csi: { driver: DRIVER, volumeHandle: id } });
  await h.store.create(PersistentVolumes, { ...rest, metadata: { name: metadata.name } });
}

test("CreateVolume is called once when the driver does not implement it, until the claim is another", async (t) => {
  covers("CSI-129");
  const h = await startHarness(t, { sidecars });
  refuse(h, "CreateVolume");
  await h.store.create(PersistentVolumeClaims, pvc("data"));
  await reported(h, /does not implement the call, which is not repeated/);
  await touch(h, "provision", PersistentVolumeClaims, { name: "data", namespace: "default" });
  assert.equal(h.driver.called("CreateVolume"), 1);
  h.driver.faults.clear();
  await h.store.delete(PersistentVolumeClaims, { name: "data", namespace: "default" });
  await h.store.create(PersistentVolumeClaims, pvc("data"));
  await h.until(
    "the new claim has a volume",
    async () => (await h.find(PersistentVolumeClaims, "data", "default"))?.status?.phase === "Bound",
  );
  assert.equal(h.driver.called("CreateVolume"), 2);
});

test("DeleteVolume is called once when the driver does not implement it", async (t) => {
  covers("CSI-139");
  const h = await startHarness(t, { sidecars });
  await h.store.create(PersistentVolumeClaims, pvc("data"));
  const name = await h.until("the claim has a volume", async () => {
    const { status, spec } = (await h.find(PersistentVolumeClaims, "data", "default")) ?? {};
    return status?.phase === "Bound" && spec?.volumeName;
  });
  refuse(h, "DeleteVolume");
  await h.store.delete(PersistentVolumeClaims, { name: "data", namespace: "default" });
  await reported(h, /DeleteVolume is not there/);
  await touch(h, "reclaim", PersistentVolumes, { name });
  assert.equal(h.driver.called("DeleteVolume"), 1);
  assert.ok((await h.find(PersistentVolumes, name))?.metadata.finalizers?.includes(PV_FINALIZER));
});

test("ControllerPublishVolume is called once when the driver does not implement it", async (t) => {
  covers("CSI-162");
  const h = await startHarness(t, { sidecars, objects });
  refuse(h, "ControllerPublishVolume");
  await volume(h);
  await h.store.create(KubeVolumeAttachments, attachment);
  await reported(h, /ControllerPublishVolume is not there/);
  await touch(h, "attach", KubeVolumeAttachments, { name: "a" });
  assert.equal(h.driver.called("ControllerPublishVolume"), 1);
});

test("ControllerUnpublishVolume is called once when the driver does not implement it", async (t) => {
  covers("CSI-176");
  const h = await startHarness(t, { sidecars, objects });
  await volume(h);
  await h.store.create(KubeVolumeAttachments, attachment);
  await h.until(
    "it is attached",
    async () => (await h.find(KubeVolumeAttachments, "a"))?.status?.attached === true,
  );
  refuse(h, "ControllerUnpublishVolume");
  await h.store.delete(KubeVolumeAttachments, { name: "a" });
  await reported(h, /ControllerUnpublishVolume is not there/);
  await touch(h, "attach", KubeVolumeAttachments, { name: "a" });
  assert.equal(h.driver.called("ControllerUnpublishVolume"), 1);
});

test("neither growth nor a snapshot is asked for twice of a driver that does not implement it", async (t) => {
  const h = await start(t, { sidecars, objects: [[VolumeSnapshotClasses, snapshotClass()]] });
  refuse(h, "ControllerExpandVolume");
  refuse(h, "CreateSnapshot");
  const body = { spec: { resources: { requests: { storage: "2Gi" } } } };
  await h.store.patch(PersistentVolumeClaims, { name: "src", namespace: "default" }, { type: "merge", body });
  await h.store.create(VolumeSnapshots, vs("snap"));
  await reported(h, /ControllerExpandVolume is not there/);
  await reported(h, /CreateSnapshot is not there/);
  await touch(h, "resize", PersistentVolumeClaims, { name: "src", namespace: "default" });
  await touch(h, "snapshot", VolumeSnapshots, { name: "snap", namespace: "default" });
  assert.deepEqual([h.driver.called("ControllerExpandVolume"), h.driver.called("CreateSnapshot")], [1, 1]);
});

test("a restore and a clone that are made before their sources are no failures", async (t) => {
  const h = await startHarness(t, { sidecars, objects: [[VolumeSnapshotClasses, snapshotClass()]] });
  const apiGroup = "snapshot.storage.k8s.io";
  const claims = {
    restored: { dataSource: { apiGroup, kind: "VolumeSnapshot", name: "snap" } },
    cloned: { dataSource: { kind: "PersistentVolumeClaim", name: "src" } },
  };
  for (const [name, spec] of Object.entries(claims))
    await h.store.create(PersistentVolumeClaims, pvc(name, spec));
  await reported(h, /^waiting: snapshot snap does not exist$/);
  await reported(h, /^waiting: source claim src does not exist$/);
  await h.store.create(PersistentVolumeClaims, pvc("src"));
  await h.until(
    "the source is bound",
    async () => (await h.find(PersistentVolumeClaims, "src", "default"))?.status?.phase === "Bound",
  );
  await h.store.create(VolumeSnapshots, vs("snap"));
  for (const name of Object.keys(claims)) {
    await h.until(
      `${name} is bound`,
      async () => (await h.find(PersistentVolumeClaims, name, "default"))?.status?.phase === "Bound",
    );
  }
  const { items } = await h.store.list(Events);
  const warnings = items.filter(({ type }) => type === "Warning").map(({ message }) => message);
  assert.deepEqual(warnings, []);
});

test("a data source that does not come is a failure after a minute", async (t) => {
  const now = () => Date.now() + 61_000;
  const h = await startHarness(t, { sidecars: { ...sidecars, now } });
  const dataSource = { kind: "PersistentVolumeClaim", name: "src" };
  await h.store.create(PersistentVolumeClaims, pvc("cloned", { dataSource }));
  await h.until("a warning", async () =>
    (await h.store.list(Events)).items.some(
      ({ type, message }) => type === "Warning" && message === "source claim src does not exist",
    ),
  );
});
