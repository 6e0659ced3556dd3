import assert from "node:assert/strict";
import { test } from "node:test";
import { Code } from "@mooring/csi";
import {
  Events,
  PersistentVolumeClaims,
  VolumeSnapshotClasses,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { BEING_CREATED, BEING_DELETED, CLAIM_SOURCE_FINALIZER } from "../common/names.ts";
import type { SidecarOptions } from "../options.ts";
import { fresh } from "../testing/group-world.ts";
import { snapshotClass, snapshotContent } from "../testing/objects.ts";
import {
  claimFinalizers,
  contents,
  errorOf,
  pvc,
  ready,
  remove,
  snapshotGone,
  snapshotOf,
  start,
  vs,
} from "../testing/snapshot-world.ts";

/** Until the test lets it come back. */
const OFFLINE = { message: "array offline", times: Number.POSITIVE_INFINITY };

test("a snapshot whose driver is slow is bound and says what it waits for", async (t) => {
  const h = await start(t);
  let respond = () => {};
  h.driver.faults.add({
    method: "CreateSnapshot",
    until: new Promise<void>((resolve) => (respond = resolve)),
  });
  await h.store.create(VolumeSnapshots, vs("snap"));
  await h.until("it is bound", async () => (await snapshotOf(h))?.status?.boundVolumeSnapshotContentName);
  assert.equal((await snapshotOf(h))?.status?.readyToUse, false);
  assert.ok((await claimFinalizers(h)).includes(CLAIM_SOURCE_FINALIZER));
  await h.until("the event", async () =>
    (await h.store.list(Events)).items.some(({ reason }) => reason === "CreatingSnapshot"),
  );
  respond();
  await ready(h);
  await h.until(
    "the claim is released",
    async () => !(await claimFinalizers(h)).includes(CLAIM_SOURCE_FINALIZER),
  );
});

test("beside somebody else's provisioner the claim is kept before the driver is asked", async (t) => {
  const sidecars: Partial<SidecarOptions> = {};
  const h = await start(t, { sidecars });
  sidecars.controllers = ["snapshot"];
  await h.restart();
  let respond = () => {};
  h.driver.faults.add({
    method: "CreateSnapshot",
    until: new Promise<void>((resolve) => (respond = resolve)),
  });
  await h.store.create(VolumeSnapshots, vs("snap"));
  await h.until("the driver is asked", () => h.driver.called("CreateSnapshot") > 0);
  assert.ok((await claimFinalizers(h)).includes(CLAIM_SOURCE_FINALIZER));
  respond();
  await ready(h);
});

test("a snapshot is made, becomes ready, is restored, and goes with its data", async (t) => {
  const h = await start(t);
  await h.store.create(VolumeSnapshots, vs("snap"));
  const done = await ready(h);
  const [content] = await contents(h);
  assert.equal(content?.metadata.name, `snapcontent-${done.metadata.uid}`);
  assert.equal(done.status?.boundVolumeSnapshotContentName, content.metadata.name);
  assert.equal(done.status?.creationTime, "2023-11-14T22:13:20Z");
  assert.equal(done.status?.restoreSize, "1Gi");
  assert.deepEqual(done.metadata.finalizers?.sort(), [
    "snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection",
    "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection",
  ]);
  assert.equal(content.spec.source.volumeHandle, [...h.driver.backend.volumes.keys()][0]);
  assert.equal(content.spec.sourceVolumeMode, "Filesystem");
  assert.equal(content.spec.deletionPolicy, "Delete");
  const [backend] = h.driver.backend.snapshots.values();
  assert.equal(backend?.name, `snapshot-${done.metadata.uid}`);
  assert.equal(content.status?.snapshotHandle, backend?.id);
  await h.until(
    "nothing is uncertain",
    async () => (await contents(h))[0]?.metadata.annotations?.[BEING_CREATED] === undefined,
  );
  // Events are written a moment after what they report.
  await h.until("the event", async () =>
    (await h.store.list(Events)).items.some(
      ({ reason, message = "" }) =>
        reason === "SnapshotReady" &&
        message.includes("successfully created") &&
        message.includes("ready to use"),
    ),
  );

  const dataSource = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "snap" };
  await h.store.create(PersistentVolumeClaims, pvc("restored", { dataSource }));
  await h.until(
    "it is restored",
    async () => (await h.find(PersistentVolumeClaims, "restored", "default"))?.status?.phase === "Bound",
  );
  await remove(h);
  await snapshotGone(h);
  assert.equal((await contents(h)).length, 0);
  assert.equal(h.driver.backend.snapshots.size, 0);
  assert.equal(h.driver.called("CreateSnapshot"), 1);
  assert.equal(h.driver.called("DeleteSnapshot"), 1);
});

test("a snapshot that is not ready at once is asked about until it is", async (t) => {
  covers("CSI-221");
  const h = await start(t, { driver: { snapshotPolls: 20 } });
  await h.store.create(VolumeSnapshots, vs("snap"));
  await h.until("the first status", async () => (await snapshotOf(h)).status?.readyToUse === false);
  await ready(h);
  assert.equal(h.driver.called("CreateSnapshot"), 21);
  assert.equal(h.driver.backend.snapshots.size, 1);
});

test("errors are on the snapshot and its content, once, and go away with success", async (t) => {
  const h = await start(t);
  h.driver.faults.add({ method: "CreateSnapshot", code: Code.INTERNAL, ...OFFLINE });
  await h.store.create(VolumeSnapshots, vs("snap"));
  await errorOf(h, /array offline/);
  h.driver.faults.clear();
  const done = await ready(h);
  assert.equal(done.status?.error, undefined);
  assert.equal((await contents(h))[0]?.status?.error, undefined);
});

test("an uncertain CreateSnapshot is repeated before the snapshot is deleted: nothing is left", async (t) => {
  covers("CSI-244");
  const h = await start(t);
  h.driver.faults.add({ method: "CreateSnapshot", code: Code.DEADLINE_EXCEEDED, effect: true, times: 4 });
  await h.store.create(VolumeSnapshots, vs("snap"));
  await h.until("it was called", () => h.driver.called("CreateSnapshot") > 0);
  await remove(h);
  await h.store.delete(VolumeSnapshotClasses, { name: "snaps" });
  await h.restart();
  await snapshotGone(h);
  await h.until("the content is gone", async () => (await contents(h)).length === 0);
  assert.equal(h.driver.backend.snapshots.size, 0);
});

test("a deletion that the driver refuses is reported on the content, loses nothing, and is tried again", async (t) => {
  const h = await start(t);
  await h.store.create(VolumeSnapshots, vs("snap"));
  await ready(h);
  h.driver.faults.add({
    method: "DeleteSnapshot",
    code: Code.FAILED_PRECONDITION,
    ...OFFLINE,
  });
  await remove(h);
  const reported = async () =>
    (await h.store.list(Events)).items.find(({ reason }) => reason === "SnapshotDeleteError");
  await h.until("it is reported", async () => (await reported()) !== undefined);
  const event = await reported();
  const [content] = await contents(h);
  assert.deepEqual(
    [event?.involvedObject?.kind, event?.involvedObject?.name],
    ["VolumeSnapshotContent", content?.metadata.name],
  );
  assert.match(event?.message ?? "", /array offline/);
  assert.equal(h.driver.backend.snapshots.size, 1);
  h.driver.faults.clear();
  await snapshotGone(h);
  await h.until("the content is gone", async () => (await contents(h)).length === 0);
  assert.equal(h.driver.backend.snapshots.size, 0);
});

test("policy Retain keeps the content and the data; deleting the content later does not touch the data", async (t) => {
  const h = await start(t, {
    objects: [[VolumeSnapshotClasses, snapshotClass({ deletionPolicy: "Retain" })]],
  });
  await h.store.create(VolumeSnapshots, vs("snap"));
  await ready(h);
  await remove(h);
  await snapshotGone(h);
  const [content] = await contents(h);
  assert.equal(content?.metadata.annotations?.[BEING_DELETED], "yes");
  await h.store.delete(VolumeSnapshotContents, { name: content?.metadata.name ?? "" });
  await h.until("the content is gone", async () => (await contents(h)).length === 0);
  assert.equal(h.driver.backend.snapshots.size, 1);
});

test("a content whose snapshot is merely missing is never deleted, and one deleted directly waits for its snapshot", async (t) => {
  const h = await start(t);
  const orphan = fresh(snapshotContent("orphan", { source: { snapshotHandle: "snap-x" } }));
  await h.store.create(VolumeSnapshotContents, orphan);
  await h.store.create(VolumeSnapshots, vs("snap"));
  const { status } = await ready(h);
  await h.store.delete(VolumeSnapshotContents, { name: status?.boundVolumeSnapshotContentName ?? "" });
  await h.store.create(VolumeSnapshots, vs("other"));
  await ready(h, "other");
  assert.equal(h.driver.backend.snapshots.size, 2);
  assert.ok((await contents(h)).some(({ metadata }) => metadata.name === "orphan"));
  await remove(h);
  await snapshotGone(h);
  assert.equal(h.driver.backend.snapshots.size, 1);
});
