import assert from "node:assert/strict";
import { test } from "node:test";
import { VolumeGroupSnapshots, VolumeSnapshotContents, VolumeSnapshots } from "@mooring/store";
import { groupWorld } from "../testing/group-world.ts";

test("a group snapshot is cut with one call, has its members, and goes with one call", async (t) => {
  const w = await groupWorld(t);
  await w.claims("data", "log");
  await w.create("group");
  const group = await w.ready("group");
  const { h } = w;
  const uid = group.metadata.uid ?? "";
  assert.equal(group.status?.boundVolumeGroupSnapshotContentName, `groupsnapcontent-${uid}`);
  assert.equal(h.driver.called("CreateVolumeGroupSnapshot"), 1);
  assert.equal((await h.store.list(VolumeSnapshots)).items.length, 2);
  assert.equal((await h.store.list(VolumeSnapshotContents)).items.length, 2);
  await h.store.delete(VolumeGroupSnapshots, { namespace: "default", name: "group" });
  await w.gone("group");
  assert.equal((await h.store.list(VolumeSnapshots)).items.length, 0);
  assert.equal((await h.store.list(VolumeSnapshotContents)).items.length, 0);
  assert.equal(h.driver.backend.snapshots.size, 0);
  assert.equal(h.driver.called("DeleteVolumeGroupSnapshot"), 1);
  assert.equal(h.driver.called("DeleteSnapshot"), 0);
  assert.equal(h.driver.called("CreateSnapshot"), 0);
});
