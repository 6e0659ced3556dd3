import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolumeClaims, VolumeSnapshotContents, VolumeSnapshots } from "@mooring/store";
import { fresh } from "../testing/group-world.ts";
import { snapshotContent } from "../testing/objects.ts";
import { contents, pvc, ready, remove, snapshotGone, start, vs } from "../testing/snapshot-world.ts";

test("a pre-provisioned snapshot is bound by its UID, inspected and ready; a restore can use it", async (t) => {
  const h = await start(t);
  const [volume] = h.driver.backend.volumes.values();
  const { id } = h.driver.backend.createSnapshot("old", volume?.id ?? "", 0);
  const volumeSnapshotRef = { name: "snap", namespace: "default" };
  const imported = fresh(snapshotContent("imported", { source: { snapshotHandle: id }, volumeSnapshotRef }));
  const { volumeSnapshotClassName: _none, ...spec } = imported.spec;
  await h.store.create(VolumeSnapshotContents, { ...imported, spec });
  await h.store.create(VolumeSnapshots, vs("snap", { source: { volumeSnapshotContentName: "imported" } }));
  const done = await ready(h);
  const [content] = await contents(h);
  assert.equal(content?.spec.volumeSnapshotRef.uid, done.metadata.uid);
  assert.equal(done.status?.restoreSize, "1Gi");
  const dataSource = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "snap" };
  await h.store.create(PersistentVolumeClaims, pvc("restored", { dataSource }));
  await h.until(
    "it is restored",
    async () => (await h.find(PersistentVolumeClaims, "restored", "default"))?.status?.phase === "Bound",
  );
  await remove(h);
  await snapshotGone(h);
  assert.equal(h.driver.backend.snapshots.size, 0);
});

test("a pre-provisioned content that was never bound is deleted with its data", async (t) => {
  const h = await start(t);
  const [volume] = h.driver.backend.volumes.values();
  const { id } = h.driver.backend.createSnapshot("old", volume?.id ?? "", 0);
  const volumeSnapshotRef = { name: "nobody", namespace: "default" };
  await h.store.create(
    VolumeSnapshotContents,
    fresh(snapshotContent("imported", { source: { snapshotHandle: id }, volumeSnapshotRef })),
  );
  await h.until("it is inspected", async () => (await contents(h))[0]?.status?.readyToUse);
  await h.store.delete(VolumeSnapshotContents, { name: "imported" });
  await h.until("the content is gone", async () => (await contents(h)).length === 0);
  assert.equal(h.driver.backend.snapshots.size, 0);
});
