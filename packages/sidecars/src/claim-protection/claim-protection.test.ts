import assert from "node:assert/strict";
import { test } from "node:test";
import { Code } from "@mooring/csi";
import { ConfigMaps, PersistentVolumeClaims, PersistentVolumes, VolumeSnapshots } from "@mooring/store";
import { NS } from "../testing/group-world.ts";
import { errorOf, pvc, ready, remove, snapshotGone, start, vs } from "../testing/snapshot-world.ts";

test("a snapshot cannot be deleted under a restore, and a restore that fails does not keep it", async (t) => {
  const h = await start(t);
  await h.store.create(VolumeSnapshots, vs("snap"));
  await ready(h);
  h.driver.faults.add({ method: "CreateVolume", code: Code.UNAVAILABLE, effect: true, times: 6 });
  const dataSource = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "snap" };
  await h.store.create(PersistentVolumeClaims, pvc("restored", { dataSource }));
  await h.until("the restore runs", () => h.driver.called("CreateVolume") > 1);
  await remove(h);
  await h.until(
    "the restore is done",
    async () => (await h.find(PersistentVolumeClaims, "restored", "default"))?.status?.phase === "Bound",
  );
  await snapshotGone(h);

  await h.store.create(VolumeSnapshots, vs("snap"));
  await ready(h);
  h.driver.faults.add({ method: "CreateVolume", code: Code.INTERNAL, times: 1000 });
  await h.store.create(PersistentVolumeClaims, pvc("never", { dataSource }));
  await h.until("it was tried", () => h.driver.called("CreateVolume") > 9);
  await remove(h);
  await snapshotGone(h);
  assert.equal(h.driver.backend.snapshots.size, 0);
});

test("the data of a claim under deletion are kept for a snapshot being made, and not for one that cannot be made", async (t) => {
  const h = await start(t);
  h.driver.faults.add({ method: "CreateSnapshot", code: Code.UNAVAILABLE, times: 5 });
  await h.store.create(VolumeSnapshots, vs("snap"));
  await h.until("it was called", () => h.driver.called("CreateSnapshot") > 0);
  await h.store.delete(PersistentVolumeClaims, { name: "src", namespace: NS });
  await ready(h);
  await h.until("its volume is gone", async () => (await h.store.list(PersistentVolumes)).items.length === 0);

  await h.store.create(PersistentVolumeClaims, pvc("src"));
  await h.until(
    "it is bound",
    async () => (await h.find(PersistentVolumeClaims, "src", "default"))?.status?.phase === "Bound",
  );
  h.driver.faults.add({ method: "CreateSnapshot", code: Code.INTERNAL, times: 10_000 });
  await h.store.create(VolumeSnapshots, vs("never"));
  await errorOf(h, /CreateSnapshot fails/, "never");
  await h.store.delete(PersistentVolumeClaims, { name: "src", namespace: NS });
  await h.until("its volume is gone", async () => (await h.store.list(PersistentVolumes)).items.length === 0);
});

test("a clone keeps its source until it is made", async (t) => {
  const h = await start(t);
  const forever = { code: Code.UNAVAILABLE, effect: true, times: Number.POSITIVE_INFINITY };
  h.driver.faults.add({ method: "CreateVolume", ...forever });
  const dataSource = { kind: "PersistentVolumeClaim", name: "src" };
  await h.store.create(PersistentVolumeClaims, pvc("clone", { dataSource }));
  await h.until("it was called", () => h.driver.called("CreateVolume") > 1);
  await h.store.delete(PersistentVolumeClaims, { name: "src", namespace: NS });
  assert.ok(await h.find(PersistentVolumeClaims, "src", "default"));
  h.driver.faults.clear();
  await h.until(
    "the clone is bound",
    async () => (await h.find(PersistentVolumeClaims, "clone", "default"))?.status?.phase === "Bound",
  );
  await h.until(
    "the source is gone",
    async () => (await h.find(PersistentVolumeClaims, "src", "default")) === undefined,
  );
  await h.until("its volume too", async () => (await h.store.list(PersistentVolumes)).items.length === 1);
  assert.equal((await h.store.list(ConfigMaps)).items.length, 0);
});
