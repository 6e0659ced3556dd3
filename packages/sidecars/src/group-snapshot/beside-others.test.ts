import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type KubeObject,
  PersistentVolumeClaims,
  type Resource,
  VolumeGroupSnapshotClasses,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  VolumeSnapshotClasses,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { fresh, groupWorld, labelled, NS } from "../testing/group-world.ts";
import { groupClass, snapshotClass, snapshotContent, volumeSnapshot } from "../testing/objects.ts";

test("a single snapshot of a member's claim works next to the group", async (t) => {
  covers("KEP-068");
  const objects: [Resource, KubeObject][] = [
    [VolumeGroupSnapshotClasses, groupClass()],
    [VolumeSnapshotClasses, snapshotClass()],
  ];
  const w = await groupWorld(t, { objects });
  await w.claims("data", "log");
  await w.create("group");
  const spec = { source: { persistentVolumeClaimName: "data" }, volumeSnapshotClassName: "snaps" };
  await w.h.store.create(VolumeSnapshots, fresh(volumeSnapshot("single", spec)));
  await w.ready();
  const single = await w.h.until("the single one is ready", async () => {
    const found = await w.h.find(VolumeSnapshots, "single", NS);
    return found?.status?.readyToUse === true && found;
  });
  assert.equal(single.status?.volumeGroupSnapshotName, undefined);
  assert.equal(w.h.driver.called("CreateVolumeGroupSnapshot"), 1);
  assert.equal(w.h.driver.called("CreateSnapshot"), 1);
});

for (const groups of [true, false]) {
  test(`single snapshots are what they were ${groups ? "with" : "without"} group snapshots in the cluster`, async (t) => {
    covers("KEP-095");
    const kinds = [VolumeGroupSnapshots, VolumeGroupSnapshotContents, VolumeGroupSnapshotClasses];
    const objects: [Resource, KubeObject][] = [[VolumeSnapshotClasses, snapshotClass()]];
    const w = await groupWorld(t, { objects, driver: { groups }, ...(groups ? {} : { without: kinds }) });
    await w.claims("data");
    const spec = { source: { persistentVolumeClaimName: "data" }, volumeSnapshotClassName: "snaps" };
    await w.h.store.create(VolumeSnapshots, fresh(volumeSnapshot("single", spec)));
    const single = await w.h.until("it is ready", async () => {
      const found = await w.h.find(VolumeSnapshots, "single", NS);
      return found?.status?.readyToUse === true && found;
    });
    assert.equal(single.status?.volumeGroupSnapshotName, undefined);
    const dataSource = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "single" };
    await w.h.store.create(PersistentVolumeClaims, labelled("restored", {}, { dataSource }));
    await w.h.until(
      "it is restored",
      async () => (await w.h.find(PersistentVolumeClaims, "restored", NS))?.status?.phase === "Bound",
    );
    await w.h.store.delete(VolumeSnapshots, { name: "single", namespace: NS });
    await w.h.until("it is gone", async () => (await w.h.find(VolumeSnapshots, "single", NS)) === undefined);
    await w.h.until("with its content", async () => (await w.memberContents()).length === 0);
    const calls = ["CreateSnapshot", "DeleteSnapshot", "CreateVolumeGroupSnapshot"];
    assert.deepEqual(
      calls.map((call) => w.h.driver.called(call)),
      [1, 1, 0],
    );
    assert.equal(w.h.driver.backend.snapshots.size, 0);
  });
}

test("two groups over the same claims are made one by one, each with members of its own", async (t) => {
  const w = await groupWorld(t);
  await w.claims("data", "log");
  w.h.driver.faults.add({ method: "CreateVolumeGroupSnapshot", code: 10, times: 2 });
  await Promise.all([w.create("one"), w.create("two")]);
  await w.ready("one");
  await w.ready("two");
  assert.equal(w.h.driver.backend.groups.size, 2);
  assert.equal((await w.members()).length, 4);
  await w.remove("one");
  await w.gone("one");
  assert.equal((await w.members()).length, 2);
  assert.ok((await w.members()).every(({ status }) => status?.volumeGroupSnapshotName === "two"));
});

test("the same name as before is another group snapshot", async (t) => {
  const w = await groupWorld(t);
  await w.claims("data");
  await w.create("group");
  const first = await w.ready();
  await w.remove();
  await w.gone();
  await w.create("group");
  const second = await w.ready();
  assert.notEqual(
    first.status?.boundVolumeGroupSnapshotContentName,
    second.status?.boundVolumeGroupSnapshotContentName,
  );
  assert.equal((await w.members()).length, 1);
});

test("a content that somebody makes for a member's snapshot stays his own, and the member stays in its group", async (t) => {
  const w = await groupWorld(t);
  await w.claims("data");
  await w.create("group");
  await w.ready();
  const [member] = await w.memberContents();
  const snapshotHandle = member?.status?.snapshotHandle ?? "";
  const volumeSnapshotRef = { name: "backup", namespace: NS, uid: "" };
  const spec = { source: { snapshotHandle }, volumeSnapshotRef, deletionPolicy: "Retain" as const };
  await w.h.store.create(VolumeSnapshotContents, fresh(snapshotContent("backup", spec)));
  const source = { volumeSnapshotContentName: "backup" };
  await w.h.store.create(VolumeSnapshots, fresh(volumeSnapshot("backup", { source })));
  await w.h.until(
    "the backup is ready",
    async () => (await w.h.find(VolumeSnapshots, "backup", NS))?.status?.readyToUse === true,
  );
  await w.h.restart();
  await w.create("other");
  await w.ready("other");
  const content = await w.h.find(VolumeSnapshotContents, "backup");
  assert.equal(content?.spec.deletionPolicy, "Retain");
  assert.deepEqual(Object.keys(content?.metadata.annotations ?? {}), []);
  const backup = await w.h.find(VolumeSnapshots, "backup", NS);
  assert.equal(backup?.metadata.ownerReferences, undefined);
  await w.remove();
  await w.gone();
  assert.ok(await w.h.find(VolumeSnapshotContents, "backup"));
});
