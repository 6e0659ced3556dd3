import assert from "node:assert/strict";
import { test } from "node:test";
import { Secrets, VolumeSnapshotClasses, VolumeSnapshotContents, VolumeSnapshots } from "@mooring/store";
import { fresh } from "../testing/group-world.ts";
import { snapshotClass, snapshotContent } from "../testing/objects.ts";
import { contents, errorOf, ready, remove, snapshotGone, start, vs } from "../testing/snapshot-world.ts";

const P = "csi.storage.k8s.io/snapshotter-secret-";
const withSecret = snapshotClass({ parameters: { [`${P}name`]: "key", [`${P}namespace`]: "infra" } });
const KEY = { name: "key", namespace: "infra" };
const secret = { apiVersion: "v1", kind: "Secret", metadata: KEY };

test("a snapshot whose secret is missing waits for it, and says so", async (t) => {
  const h = await start(t, { objects: [[VolumeSnapshotClasses, withSecret]] });
  await h.store.create(VolumeSnapshots, vs("snap"));
  await errorOf(h, /key/);
  assert.equal(h.driver.called("CreateSnapshot"), 0);
  await h.store.create(Secrets, secret);
  await ready(h);
});

test("a secret that has gone does not keep a snapshot that is deleted", async (t) => {
  const h = await start(t, {
    objects: [
      [VolumeSnapshotClasses, withSecret],
      [Secrets, secret],
    ],
  });
  await h.store.create(VolumeSnapshots, vs("snap"));
  await ready(h);
  await h.store.delete(Secrets, KEY);
  await remove(h);
  await snapshotGone(h);
  await h.until("its content is gone", async () => (await contents(h)).length === 0);
  assert.equal(h.driver.backend.snapshots.size, 0);
});

test("what exists is taken for ready where a driver cannot list snapshots", async (t) => {
  const h = await start(t, { driver: { can: ["CREATE_DELETE_VOLUME", "CREATE_DELETE_SNAPSHOT"] } });
  const volumeSnapshotRef = { name: "snap", namespace: "default" };
  const imported = snapshotContent("imported", { source: { snapshotHandle: "old" }, volumeSnapshotRef });
  await h.store.create(VolumeSnapshotContents, fresh(imported));
  await h.store.create(VolumeSnapshots, vs("snap", { source: { volumeSnapshotContentName: "imported" } }));
  const { status } = await ready(h);
  assert.equal(status?.restoreSize, undefined, "a size that nobody knows limits no restore");
  assert.equal(h.driver.called("ListSnapshots"), 0);
});
