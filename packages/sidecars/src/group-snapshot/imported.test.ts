import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, type v1 } from "@mooring/csi";
import {
  type KubeObject,
  PersistentVolumeClaims,
  type Resource,
  Secrets,
  VolumeGroupSnapshotClasses,
  VolumeGroupSnapshotContents,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { fresh, type GroupWorld, groupWorld, labelled, NS } from "../testing/group-world.ts";
import { groupClass, groupContent, snapshotContent, volumeSnapshot } from "../testing/objects.ts";

/** A group on storage that no object refers to. */
async function old(w: GroupWorld) {
  await w.claims("data", "log");
  return w.h.driver.backend.createGroup("old", await w.handles("data", "log"), 0);
}

const contentOf = (group: { id: string; snapshotIds: string[] }, changes: object = {}) => {
  const { volumeGroupSnapshotClassName: _none, ...spec } = groupContent("brought", {
    source: {
      groupSnapshotHandles: { volumeGroupSnapshotHandle: group.id, volumeSnapshotHandles: group.snapshotIds },
    },
    volumeGroupSnapshotRef: { name: "group", namespace: NS },
    ...changes,
  }).spec;
  return fresh({ ...groupContent("brought"), spec });
};
const pointing = {
  source: { volumeGroupSnapshotContentName: "brought" },
  volumeGroupSnapshotClassName: undefined,
};

async function whole(w: GroupWorld, { id, snapshotIds }: { id: string; snapshotIds: string[] }) {
  const group = await w.ready();
  const content = await w.content();
  assert.equal(content.spec.volumeGroupSnapshotRef.uid, group.metadata.uid);
  assert.equal(group.status?.boundVolumeGroupSnapshotContentName, "brought");
  assert.equal(content.status?.volumeGroupSnapshotHandle, id);
  const contents = await w.memberContents();
  assert.deepEqual(contents.map(({ spec }) => spec.source.snapshotHandle).sort(), [...snapshotIds].sort());
  for (const member of await w.members()) {
    const own = contents.find(
      ({ metadata }) => metadata.name === member.status?.boundVolumeSnapshotContentName,
    );
    assert.equal(own?.spec.volumeSnapshotRef.uid, member.metadata.uid);
    assert.equal(member.spec.source.volumeSnapshotContentName, own?.metadata.name);
    assert.equal(member.status?.readyToUse, true);
    assert.equal(member.status?.volumeGroupSnapshotName, "group");
    assert.equal(own?.status?.volumeGroupSnapshotHandle, id);
  }
  assert.equal((await w.members()).length, snapshotIds.length);
  assert.equal(w.h.driver.called("CreateVolumeGroupSnapshot"), 0);
  assert.ok(w.h.driver.called("GetVolumeGroupSnapshot") > 0);
}

test("a group that exists on storage is brought in, content first", async (t) => {
  covers("KEP-023", "KEP-024", "KEP-025", "KEP-026", "KEP-091", "KEP-115");
  const w = await groupWorld(t, { objects: [] });
  const group = await old(w);
  await w.h.store.create(VolumeGroupSnapshotContents, contentOf(group));
  await w.create("group", pointing);
  await whole(w, group);
  const [request] = w.requests<v1.GetVolumeGroupSnapshotRequest>("GetVolumeGroupSnapshot");
  assert.deepEqual([request?.groupSnapshotId, request?.snapshotIds], [group.id, group.snapshotIds]);
  const [member] = await w.members();
  const name = member?.metadata.name ?? "";
  const dataSource = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name };
  await w.h.store.create(PersistentVolumeClaims, labelled("restored", {}, { dataSource }));
  await w.h.until(
    "it is restored",
    async () => (await w.h.find(PersistentVolumeClaims, "restored", NS))?.status?.phase === "Bound",
  );
  await w.remove();
  await w.gone();
  assert.deepEqual(await w.members(), []);
  assert.deepEqual(await w.memberContents(), []);
  assert.equal(w.h.driver.backend.groups.size, 0);
  assert.equal(w.h.driver.called("DeleteVolumeGroupSnapshot"), 1);
});

test("a group snapshot that comes before its content waits for it, and reports that", async (t) => {
  const w = await groupWorld(t, { objects: [] });
  const group = await old(w);
  await w.create("group", pointing);
  await w.error(/VolumeGroupSnapshotContent brought is missing/);
  await w.reported("VolumeGroupSnapshot", "GroupSnapshotContentMissing");
  await w.h.store.create(VolumeGroupSnapshotContents, contentOf(group));
  await whole(w, group);
  assert.equal((await w.group())?.status?.error, undefined);
});

test("objects that an administrator has made for members join the group and go with it", async (t) => {
  const w = await groupWorld(t, { objects: [] });
  const group = await old(w);
  await w.h.store.create(VolumeGroupSnapshotContents, contentOf(group));
  for (const [index, snapshotHandle] of group.snapshotIds.entries()) {
    const name = `mine-${index}`;
    const ref = { name, namespace: NS };
    const content = snapshotContent(name, { source: { snapshotHandle }, volumeSnapshotRef: ref });
    await w.h.store.create(VolumeSnapshotContents, fresh(content));
    const spec = { source: { volumeSnapshotContentName: name } };
    if (index === 0) await w.h.store.create(VolumeSnapshots, fresh(volumeSnapshot(name, spec)));
  }
  await w.create("group", pointing);
  await whole(w, group);
  assert.deepEqual((await w.members()).map(({ metadata }) => metadata.name).sort(), ["mine-0", "mine-1"]);
  await w.remove();
  await w.gone();
  assert.deepEqual(await w.members(), []);
  assert.deepEqual(await w.memberContents(), []);
  assert.equal(w.h.driver.called("DeleteSnapshot"), 0);
});

test("a content that was never bound goes with its data when it is deleted", async (t) => {
  const w = await groupWorld(t, { objects: [] });
  const group = await old(w);
  await w.h.store.create(VolumeGroupSnapshotContents, contentOf(group));
  await w.h.until("it is known", async () => (await w.content()).status?.readyToUse);
  await w.h.store.delete(VolumeGroupSnapshotContents, { name: "brought" });
  await w.h.until(
    "it is gone",
    async () => (await w.h.store.list(VolumeGroupSnapshotContents)).items.length === 0,
  );
  assert.equal(w.h.driver.backend.groups.size, 0);
});

test("a group that is not ready yet is asked about until it is", async (t) => {
  const w = await groupWorld(t, { objects: [] });
  const group = await old(w);
  for (const member of w.h.driver.backend.membersOf(group)) member.pendingPolls = 3;
  await w.h.store.create(VolumeGroupSnapshotContents, contentOf(group));
  await w.create("group", pointing);
  await whole(w, group);
  assert.equal(w.h.driver.called("GetVolumeGroupSnapshot"), 3);
});

test("the class that a group snapshot names gives the secret, and may go then", async (t) => {
  const parameters = {
    "csi.storage.k8s.io/group-snapshotter-secret-name": "key",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the template of a class
    "csi.storage.k8s.io/group-snapshotter-secret-namespace": "${volumegroupsnapshot.namespace}",
  };
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "key", namespace: NS },
    data: { k: "dg==" },
  };
  const objects: [Resource, KubeObject][] = [
    [VolumeGroupSnapshotClasses, groupClass({ parameters })],
    [Secrets, secret],
  ];
  const w = await groupWorld(t, { objects });
  const group = await old(w);
  await w.create("group", { source: pointing.source, volumeGroupSnapshotClassName: "groups" });
  await w.error(/missing/);
  await w.h.store.create(VolumeGroupSnapshotContents, contentOf(group));
  await whole(w, group);
  assert.equal((await w.content()).spec.volumeGroupSnapshotClassName, "groups");
  await w.h.store.delete(VolumeGroupSnapshotClasses, { name: "groups" });
  await w.remove();
  await w.gone();
  const [call] = w.requests<v1.DeleteVolumeGroupSnapshotRequest>("DeleteVolumeGroupSnapshot");
  assert.deepEqual(call?.secrets, { k: "v" });
});

test("a class that comes after the group that names it gives its secret as well", async (t) => {
  const parameters = {
    "csi.storage.k8s.io/group-snapshotter-secret-name": "key",
    "csi.storage.k8s.io/group-snapshotter-secret-namespace": NS,
  };
  const metadata = { name: "key", namespace: NS };
  const secret = { apiVersion: "v1", kind: "Secret", metadata, data: { k: "dg==" } };
  const w = await groupWorld(t, { objects: [[Secrets, secret]] });
  const group = await old(w);
  await w.h.store.create(VolumeGroupSnapshotContents, contentOf(group));
  await w.create("group", { source: pointing.source, volumeGroupSnapshotClassName: "groups" });
  await whole(w, group);
  await w.h.store.create(VolumeGroupSnapshotClasses, groupClass({ parameters }));
  const annotation = "groupsnapshot.storage.kubernetes.io/deletion-secret-name";
  await w.h.until("its secret is known", async () => {
    const { metadata } = await w.content();
    return metadata.annotations?.[annotation] === "key";
  });
  await w.remove();
  await w.gone();
  const [call] = w.requests<v1.DeleteVolumeGroupSnapshotRequest>("DeleteVolumeGroupSnapshot");
  assert.deepEqual(call?.secrets, { k: "v" });
});

test("a class whose secret cannot be named does not bind a group that is brought in, until it is repaired", async (t) => {
  const parameters = { "csi.storage.k8s.io/group-snapshotter-secret-name": "key" };
  const w = await groupWorld(t, { objects: [[VolumeGroupSnapshotClasses, groupClass({ parameters })]] });
  const group = await old(w);
  await w.h.store.create(VolumeGroupSnapshotContents, contentOf(group));
  await w.create("group", { source: pointing.source, volumeGroupSnapshotClassName: "groups" });
  await w.reported("VolumeGroupSnapshot", "GroupSnapshotBindFailed", /group-snapshotter-secret-namespace/);
  assert.deepEqual(await w.members(), []);
  await w.h.store.delete(VolumeGroupSnapshotClasses, { name: "groups" });
  await w.h.store.create(VolumeGroupSnapshotClasses, groupClass());
  await whole(w, group);
});

const refused: [title: string, changes: object, error: RegExp, reason: string][] = [
  [
    "of another group snapshot",
    { volumeGroupSnapshotRef: { name: "other", namespace: NS } },
    /content brought belongs to another group snapshot/,
    "GroupSnapshotContentMisbound",
  ],
  [
    "of an earlier group snapshot of that name",
    { volumeGroupSnapshotRef: { name: "group", namespace: NS, uid: "before" } },
    /content brought belongs to another group snapshot/,
    "GroupSnapshotContentMisbound",
  ],
  [
    "without handles",
    { source: { volumeHandles: ["vol-1"] } },
    /content brought has no group snapshot handles/,
    "GroupSnapshotContentMismatch",
  ],
];
for (const [title, changes, error, reason] of refused)
  test(`a content ${title} is not taken`, async (t) => {
    const w = await groupWorld(t, { objects: [] });
    const group = await old(w);
    w.h.driver.faults.add({
      method: "CreateVolumeGroupSnapshot",
      code: Code.INVALID_ARGUMENT,
      times: Number.POSITIVE_INFINITY,
    });
    await w.h.store.create(VolumeGroupSnapshotContents, contentOf(group, changes));
    await w.create("group", pointing);
    await w.error(error);
    await w.reported("VolumeGroupSnapshot", reason);
    assert.deepEqual(await w.members(), []);
    await w.remove();
    await w.gone();
    assert.equal(w.h.driver.called("DeleteVolumeGroupSnapshot"), 0);
    assert.equal(w.h.driver.backend.groups.size, 1);
  });

test("handles that storage does not know are reported on the group snapshot", async (t) => {
  const w = await groupWorld(t, { objects: [] });
  const group = await old(w);
  const unknown = { ...group, snapshotIds: [...group.snapshotIds, "snap-x"] };
  await w.h.store.create(VolumeGroupSnapshotContents, contentOf(unknown));
  await w.create("group", pointing);
  await w.error(/are not the members of group/);
  await w.reported("VolumeGroupSnapshotContent", "GroupSnapshotContentCheckandUpdateFailed");
  assert.deepEqual(await w.members(), []);
});
