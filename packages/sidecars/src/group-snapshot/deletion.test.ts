import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, NOTHING_MADE, type v1 } from "@mooring/csi";
import {
  PersistentVolumeClaims,
  Secrets,
  VolumeGroupSnapshotClasses,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { GROUP_BEING_CREATED, GROUP_BEING_DELETED } from "../common/names.ts";
import { type GroupWorld, groupWorld, labelled, NS } from "../testing/group-world.ts";
import { groupClass } from "../testing/objects.ts";

const key = (name: string) => ({ name, namespace: NS });

async function nothingLeft({ h, memberContents, members }: GroupWorld): Promise<void> {
  assert.deepEqual(await members(), []);
  assert.deepEqual(await memberContents(), []);
  assert.deepEqual((await h.store.list(VolumeGroupSnapshotContents)).items, []);
  assert.equal(h.driver.backend.snapshots.size, 0);
  assert.equal(h.driver.backend.groups.size, 0);
  assert.equal(h.driver.called("DeleteSnapshot"), 0);
}

async function made(t: Parameters<typeof groupWorld>[0], options?: Parameters<typeof groupWorld>[1]) {
  const w = await groupWorld(t, options);
  await w.claims("data", "log");
  await w.create("group");
  await w.ready();
  return w;
}

test("a group goes with one call that names all members, and objects vanish only after it", async (t) => {
  covers("KEP-028", "KEP-030", "KEP-031", "KEP-046", "KEP-087", "KEP-088");
  const w = await made(t);
  const [backend] = [...w.h.driver.backend.groups.values()];
  w.h.driver.faults.add({
    method: "DeleteVolumeGroupSnapshot",
    code: Code.FAILED_PRECONDITION,
    message: "a member is in use",
    times: Number.POSITIVE_INFINITY,
  });
  await w.remove();
  const { status } = await w.error(/a member is in use/);
  assert.equal(status?.readyToUse, true);
  assert.equal((await w.members()).length, 2);
  assert.equal((await w.memberContents()).length, 2);
  w.h.driver.faults.clear();
  await w.gone();
  await nothingLeft(w);
  const calls = w.requests<v1.DeleteVolumeGroupSnapshotRequest>("DeleteVolumeGroupSnapshot");
  assert.ok(calls.length > 1);
  for (const { groupSnapshotId, snapshotIds } of calls)
    assert.deepEqual([groupSnapshotId, snapshotIds], [backend?.id, backend?.snapshotIds]);
});

test("policy Retain keeps contents and data; contents deleted later do not touch the data", async (t) => {
  covers("KEP-047");
  const w = await made(t, {
    objects: [[VolumeGroupSnapshotClasses, groupClass({ deletionPolicy: "Retain" })]],
  });
  await w.remove();
  await w.gone();
  assert.deepEqual(await w.members(), []);
  const contents = await w.memberContents();
  assert.equal(contents.length, 2);
  const content = await w.content();
  assert.equal(content.spec.deletionPolicy, "Retain");
  const { [GROUP_BEING_CREATED]: created, [GROUP_BEING_DELETED]: deleted } =
    content.metadata.annotations ?? {};
  assert.deepEqual([created, deleted], [undefined, "yes"]);
  for (const { metadata } of contents)
    await w.h.store.delete(VolumeSnapshotContents, { name: metadata.name });
  await w.h.store.delete(VolumeGroupSnapshotContents, { name: (await w.content()).metadata.name });
  await w.h.until("they are gone", async () => (await w.memberContents()).length === 0);
  await w.h.until(
    "the group's content is gone",
    async () => (await w.h.store.list(VolumeGroupSnapshotContents)).items.length === 0,
  );
  assert.equal(w.h.driver.backend.snapshots.size, 2);
  assert.equal(w.h.driver.called("DeleteVolumeGroupSnapshot"), 0);
  assert.equal(w.h.driver.called("DeleteSnapshot"), 0);
});

test("a member cannot be deleted alone, which is reported on it, and goes with its group", async (t) => {
  covers("KEP-021", "KEP-033", "KEP-034");
  const w = await made(t);
  const [member] = await w.members();
  const name = member?.metadata.name ?? "";
  await w.h.store.delete(VolumeSnapshots, key(name));
  await w.h.store.delete(VolumeSnapshotContents, {
    name: member?.status?.boundVolumeSnapshotContentName ?? "",
  });
  await w.h.until("it is reported", async () =>
    /cannot be deleted alone/.test((await w.h.find(VolumeSnapshots, name, NS))?.status?.error?.message ?? ""),
  );
  await w.reported(
    "VolumeSnapshot",
    "SnapshotDeletePending",
    /it goes when VolumeGroupSnapshot group is deleted/,
  );
  await w.h.restart();
  assert.equal((await w.members()).length, 2);
  assert.equal((await w.memberContents()).length, 2);
  assert.equal(w.h.driver.backend.snapshots.size, 2);
  await w.remove();
  await w.gone();
  await nothingLeft(w);
});

test("a group's content that somebody deletes stays until the group itself is deleted", async (t) => {
  const w = await made(t);
  await w.h.store.delete(VolumeGroupSnapshotContents, { name: (await w.content()).metadata.name });
  await w.h.restart();
  await w.create("other");
  await w.ready("other");
  assert.equal(w.h.driver.called("DeleteVolumeGroupSnapshot"), 0);
  await w.remove();
  await w.gone();
  assert.equal(w.h.driver.backend.groups.size, 1);
});

test("a group that is deleted while it is created is created to its end first: nothing is left, with class and claims gone too", async (t) => {
  const w = await groupWorld(t);
  await w.claims("data", "log");
  w.h.driver.faults.add({
    method: "CreateVolumeGroupSnapshot",
    code: Code.DEADLINE_EXCEEDED,
    effect: true,
    times: Number.POSITIVE_INFINITY,
  });
  await w.create("group");
  await w.h.until("it was called", () => w.h.driver.called("CreateVolumeGroupSnapshot") > 0);
  await w.remove();
  await w.h.store.delete(VolumeGroupSnapshotClasses, { name: "groups" });
  await w.h.restart();
  assert.ok(await w.group());
  w.h.driver.faults.clear();
  await w.gone();
  await nothingLeft(w);
  const names = w.requests<v1.CreateVolumeGroupSnapshotRequest>("CreateVolumeGroupSnapshot");
  assert.equal(new Set(names.map(({ name }) => name)).size, 1);
});

test("a create that surely made nothing does not delay the deletion", async (t) => {
  const w = await groupWorld(t);
  await w.claims("data");
  w.h.driver.faults.add({ method: "CreateVolumeGroupSnapshot", code: Code.INVALID_ARGUMENT, times: 100_000 });
  await w.create("group");
  await w.error(/CreateVolumeGroupSnapshot fails/);
  await w.remove();
  await w.gone();
  assert.equal(w.h.driver.called("DeleteVolumeGroupSnapshot"), 0);
});

test("a group whose snapshot is impossible does not delay the deletion, also after a call without a response", async (t) => {
  const w = await groupWorld(t);
  await w.claims("data");
  w.h.driver.faults.add({ method: "CreateVolumeGroupSnapshot", code: Code.DEADLINE_EXCEEDED });
  const refused = { code: Code.FAILED_PRECONDITION, message: "cannot be copied together", times: 100_000 };
  w.h.driver.faults.add({ method: "CreateVolumeGroupSnapshot", ...refused });
  await w.create("group");
  await w.error(/cannot be copied together/);
  await w.remove();
  await w.gone();
  assert.equal(w.h.driver.called("DeleteVolumeGroupSnapshot"), 0);
});

test("a group for which there is no room is deleted while there is none, when the driver reports that nothing was made", async (t) => {
  const w = await groupWorld(t);
  await w.claims("data");
  const full = { code: Code.RESOURCE_EXHAUSTED, message: "no room", reason: NOTHING_MADE, times: 100_000 };
  w.h.driver.faults.add({ method: "CreateVolumeGroupSnapshot", code: Code.DEADLINE_EXCEEDED });
  w.h.driver.faults.add({ method: "CreateVolumeGroupSnapshot", ...full });
  await w.create("group");
  await w.error(/no room/);
  await w.remove();
  await w.gone();
  assert.equal(w.h.driver.called("DeleteVolumeGroupSnapshot"), 0);
});

test("a deletion that the driver refuses is reported on content and group, loses nothing, and is tried again", async (t) => {
  const w = await made(t);
  w.h.driver.faults.add({
    method: "DeleteVolumeGroupSnapshot",
    code: Code.FAILED_PRECONDITION,
    message: "array offline",
    times: Number.POSITIVE_INFINITY,
  });
  await w.remove();
  await w.reported("VolumeGroupSnapshotContent", "GroupSnapshotDeleteError", /array offline/);
  await w.reported("VolumeGroupSnapshot", "GroupSnapshotContentObjectDeleteError", /array offline/);
  await w.error(/array offline/);
  assert.equal((await w.members()).length, w.h.driver.backend.snapshots.size);
  w.h.driver.faults.clear();
  await w.gone();
  await nothingLeft(w);
});

test("a group cannot go while a volume is made from a member, and no new one can begin", async (t) => {
  const w = await made(t);
  const forever = { code: Code.UNAVAILABLE, effect: true, times: Number.POSITIVE_INFINITY };
  w.h.driver.faults.add({ method: "CreateVolume", ...forever });
  const [first, second] = await w.members();
  const from = (name = "") => ({
    dataSource: { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name },
  });
  const calls = w.h.driver.called("CreateVolume");
  await w.h.store.create(PersistentVolumeClaims, labelled("restored", {}, from(first?.metadata.name)));
  await w.h.until("the restore runs", () => w.h.driver.called("CreateVolume") > calls);
  await w.remove();
  await w.reported("VolumeGroupSnapshot", "SnapshotDeletePending", /volumes are being made from snapshot-/);
  await w.h.store.create(PersistentVolumeClaims, labelled("late", {}, from(second?.metadata.name)));
  w.h.driver.faults.clear();
  await w.gone();
  await nothingLeft(w);
  const phase = async (name: string) => (await w.h.find(PersistentVolumeClaims, name, NS))?.status?.phase;
  await w.h.until("the restore is done", async () => (await phase("restored")) === "Bound");
  assert.notEqual(await phase("late"), "Bound");
});

test("a member that is missing comes back while the group is there, and does not delay its deletion", async (t) => {
  const w = await made(t);
  const force = async (name = "") => {
    const body = { metadata: { finalizers: [] } };
    await w.h.store.patch(VolumeSnapshots, key(name), { type: "merge", body });
    await w.h.store.delete(VolumeSnapshots, key(name));
  };
  const [member] = await w.members();
  const name = member?.metadata.name ?? "";
  await force(name);
  await w.h.until("another is there", async () => {
    const found = await w.h.find(VolumeSnapshots, name, NS);
    return found?.metadata.uid !== member?.metadata.uid && found?.status?.readyToUse === true;
  });
  await w.h.stop();
  await force(name);
  await w.remove();
  await w.h.restart();
  await w.gone();
  await nothingLeft(w);
  const [call] = w.requests<v1.DeleteVolumeGroupSnapshotRequest>("DeleteVolumeGroupSnapshot");
  assert.equal(call?.snapshotIds.length, 2);
});

test("members without an owner, as an orphaning delete leaves them, go with their group all the same", async (t) => {
  const w = await made(t);
  await w.h.stop();
  await w.remove();
  const body = { metadata: { ownerReferences: [] } };
  for (const { metadata } of await w.members())
    await w.h.store.patch(VolumeSnapshots, key(metadata.name), { type: "merge", body });
  await w.h.restart();
  await w.gone();
  await nothingLeft(w);
});

test("members of a group that was taken away by force can be deleted, without a call", async (t) => {
  const w = await made(t);
  await w.h.stop();
  const body = { metadata: { finalizers: [] } };
  await w.h.store.patch(VolumeGroupSnapshots, key("group"), { type: "merge", body });
  await w.remove();
  for (const { metadata } of await w.members()) await w.h.store.delete(VolumeSnapshots, key(metadata.name));
  await w.h.restart();
  await w.h.until("they are gone", async () => (await w.members()).length === 0);
  assert.deepEqual(await w.memberContents(), []);
  assert.equal(w.h.driver.backend.snapshots.size, 2);
  assert.equal(w.h.driver.called("DeleteSnapshot"), 0);
});

test("without the capability a deletion makes no call, reports that, and ends when the driver has it again", async (t) => {
  covers("KEP-027");
  const w = await made(t);
  await w.h.stop();
  await w.h.driver.pause();
  w.h.driver.groups = false;
  await w.h.driver.listen();
  await w.h.restart();
  await w.remove();
  await w.error(/cannot delete group snapshots: it lacks CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT/);
  assert.equal(w.h.driver.called("DeleteVolumeGroupSnapshot"), 0);
  assert.ok(await w.group());
  await w.h.stop();
  await w.h.driver.pause();
  w.h.driver.groups = true;
  await w.h.driver.listen();
  await w.h.restart();
  await w.gone();
  await nothingLeft(w);
});

test("a secret that is gone does not delay the deletion", async (t) => {
  const parameters = {
    "csi.storage.k8s.io/group-snapshotter-secret-name": "key",
    "csi.storage.k8s.io/group-snapshotter-secret-namespace": NS,
  };
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "key", namespace: NS }, data: {} };
  const w = await made(t, {
    objects: [
      [VolumeGroupSnapshotClasses, groupClass({ parameters })],
      [Secrets, secret],
    ],
  });
  await w.h.store.delete(Secrets, key("key"));
  await w.remove();
  await w.gone();
  await nothingLeft(w);
});
