import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { CsiError, type v1 } from "@mooring/csi";
import {
  createInformer,
  PersistentVolumeClaims,
  type VolumeGroupSnapshotContent,
  VolumeGroupSnapshotContents,
} from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { GROUP_BEING_CREATED } from "../common/names.ts";
import { groupWorld, labelled, NS } from "../testing/group-world.ts";

const hash = (text: string) => createHash("sha256").update(text).digest("hex");

test("a group snapshot is made with one call for exactly the claims that its selector matches", async (t) => {
  covers(
    "KEP-003",
    "KEP-009",
    "KEP-010",
    "KEP-011",
    "KEP-054",
    "KEP-056",
    "KEP-062",
    "KEP-064",
    "KEP-074",
    "KEP-076",
    "KEP-077",
    "KEP-112",
  );
  const w = await groupWorld(t);
  await w.h.store.create(PersistentVolumeClaims, labelled("web", { app: "web" }));
  await w.claims("log", "data");
  await w.create("group");
  const group = await w.ready();
  const uid = group.metadata.uid ?? "";
  const content = await w.content();
  assert.equal(content.metadata.name, `groupsnapcontent-${uid}`);
  assert.equal(group.status?.boundVolumeGroupSnapshotContentName, content.metadata.name);
  assert.equal(group.status?.creationTime, "2023-11-14T22:13:20Z");
  assert.equal(content.status?.creationTime, "2023-11-14T22:13:20Z");
  const { name, namespace } = content.spec.volumeGroupSnapshotRef;
  assert.deepEqual([name, namespace, content.spec.volumeGroupSnapshotRef.uid], ["group", NS, uid]);
  const sources = await w.handles("data", "log");
  assert.deepEqual(content.spec.source, { volumeHandles: sources });
  assert.equal(content.spec.deletionPolicy, "Delete");
  assert.equal(content.spec.volumeGroupSnapshotClassName, "groups");
  const [backend] = [...w.h.driver.backend.groups.values()];
  assert.equal(content.status?.volumeGroupSnapshotHandle, backend?.id);
  const calls = w.requests<v1.CreateVolumeGroupSnapshotRequest>("CreateVolumeGroupSnapshot");
  assert.equal(calls.length, 1);
  const [request] = calls;
  assert.equal(request?.name, `groupsnapshot-${uid}`);
  assert.deepEqual(request?.sourceVolumeIds, sources);
  assert.deepEqual(content.metadata.finalizers, [
    "groupsnapshot.storage.kubernetes.io/volumegroupsnapshotcontent-bound-protection",
  ]);
  assert.deepEqual(group.metadata.finalizers, [
    "groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-bound-protection",
  ]);
  await w.reported("VolumeGroupSnapshot", "GroupSnapshotReady");
  assert.equal(w.h.driver.called("CreateSnapshot"), 0);
});

test("every member has its two objects, bound to each other, with all that tools read", async (t) => {
  covers("KEP-012", "KEP-013", "KEP-018", "KEP-019", "KEP-020", "KEP-068", "KEP-103", "KEP-104");
  const w = await groupWorld(t);
  await w.claims("data", "log");
  await w.create("group");
  const { metadata } = await w.ready();
  const content = await w.content();
  const snapshots = await w.members();
  const contents = await w.memberContents();
  assert.equal(snapshots.length, 2);
  assert.equal(contents.length, 2);
  const [data = "", log = ""] = await w.handles("data", "log");
  for (const [claimName, handle] of [
    ["data", data],
    ["log", log],
  ] as const) {
    const name = hash(`${metadata.uid}${handle}`);
    const snapshot = snapshots.find((each) => each.metadata.name === `snapshot-${name}`);
    const own = contents.find((each) => each.metadata.name === `snapcontent-${name}`);
    const info = content.status?.volumeSnapshotInfoList?.find(({ volumeHandle }) => volumeHandle === handle);
    assert.ok(snapshot && own && info);
    assert.deepEqual(snapshot.spec.source, { persistentVolumeClaimName: claimName });
    assert.deepEqual(snapshot.metadata.labels, { volumeGroupSnapshotName: "group" });
    assert.deepEqual([...(snapshot.metadata.finalizers ?? [])].sort(), [
      "snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection",
      "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection",
      "snapshot.storage.kubernetes.io/volumesnapshot-in-group-protection",
    ]);
    const [owner] = snapshot.metadata.ownerReferences ?? [];
    assert.deepEqual(
      [owner?.kind, owner?.name, owner?.uid, owner?.controller],
      ["VolumeGroupSnapshot", "group", metadata.uid, true],
    );
    assert.deepEqual(snapshot.status, {
      boundVolumeSnapshotContentName: own.metadata.name,
      volumeGroupSnapshotName: "group",
      readyToUse: true,
      creationTime: "2023-11-14T22:13:20Z",
      restoreSize: "1Gi",
    });
    assert.deepEqual(own.spec.source, { volumeHandle: handle });
    assert.equal(own.spec.volumeSnapshotRef.uid, snapshot.metadata.uid);
    assert.equal(own.spec.deletionPolicy, "Delete");
    assert.equal(own.spec.sourceVolumeMode, "Filesystem");
    assert.deepEqual(own.metadata.finalizers, [
      "snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection",
    ]);
    assert.equal(
      own.metadata.annotations?.["groupsnapshot.storage.k8s.io/volumeGroupSnapshotHandle"],
      content.status?.volumeGroupSnapshotHandle,
    );
    assert.deepEqual(own.status, {
      snapshotHandle: info.snapshotHandle,
      volumeGroupSnapshotHandle: content.status?.volumeGroupSnapshotHandle,
      readyToUse: true,
      creationTime: 1_700_000_000_000_000_000,
      restoreSize: 1024 ** 3,
    });
    assert.equal(w.h.driver.backend.snapshots.get(info.snapshotHandle ?? "")?.volumeId, handle);
  }
  const handles = content.status?.volumeSnapshotInfoList?.map(({ snapshotHandle, volumeHandle }) => ({
    volumeHandle,
    snapshotHandle,
  }));
  assert.deepEqual(content.status?.volumeSnapshotHandlePairList, handles);
});

test("a group that takes its time is polled until the last member is ready, and no member is ready before it is", async (t) => {
  covers("KEP-015", "KEP-055", "KEP-082");
  const w = await groupWorld(t, { driver: { snapshotPolls: 3 } });
  await w.claims("data", "log");
  await w.create("group");
  await w.h.until("the members are there", async () => (await w.members()).length === 2);
  const states: unknown[] = [];
  await w.h.until("it is ready", async () => {
    const group = await w.group();
    if (group?.status?.readyToUse !== true) return false;
    states.push((await w.members()).map(({ status }) => status?.readyToUse));
    return true;
  });
  assert.deepEqual(states, [[true, true]]);
  assert.equal(w.h.driver.called("CreateVolumeGroupSnapshot"), 1);
  assert.equal(w.h.driver.called("GetVolumeGroupSnapshot"), 3);
  const [request] = w.requests<v1.GetVolumeGroupSnapshotRequest>("GetVolumeGroupSnapshot");
  const [backend] = [...w.h.driver.backend.groups.values()];
  assert.deepEqual(
    [request?.groupSnapshotId, request?.snapshotIds],
    [backend?.id, backend?.snapshotIds],
    "the group is asked for by the ids that creation gave",
  );
});

test("each member restores to a claim of its own", async (t) => {
  covers("KEP-035");
  const w = await groupWorld(t);
  await w.claims("data", "log");
  await w.create("group");
  await w.ready();
  for (const { metadata, spec } of await w.members()) {
    const dataSource = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: metadata.name };
    const name = `restored-${spec.source.persistentVolumeClaimName}`;
    await w.h.store.create(PersistentVolumeClaims, labelled(name, {}, { dataSource }));
    await w.h.until(
      `${name} is bound`,
      async () => (await w.h.find(PersistentVolumeClaims, name, NS))?.status?.phase === "Bound",
    );
  }
  const restored = w.h.driver.calls
    .filter(({ method }) => method === "CreateVolume")
    .flatMap(({ request }) => {
      const source = (request as v1.CreateVolumeRequest).volumeContentSource?.type;
      return source?.case === "snapshot" ? [source.value.snapshotId] : [];
    });
  const [backend] = [...w.h.driver.backend.groups.values()];
  assert.deepEqual([...new Set(restored)].sort(), [...(backend?.snapshotIds ?? [])].sort());
});

test("labels that change do not change a group snapshot that has begun", async (t) => {
  covers("KEP-051", "KEP-052");
  const w = await groupWorld(t);
  await w.claims("data", "log");
  const sources = await w.handles("data", "log");
  w.h.driver.faults.add({ method: "CreateVolumeGroupSnapshot", code: 14, effect: true, times: 3 });
  await w.create("group");
  await w.h.until("it was called", () => w.h.driver.called("CreateVolumeGroupSnapshot") > 0);
  const body = { metadata: { labels: { app: "web" } } };
  await w.h.store.patch(PersistentVolumeClaims, { name: "log", namespace: NS }, { type: "merge", body });
  await w.claims("more");
  await w.ready();
  for (const { method, request } of w.h.driver.calls)
    if (method === "CreateVolumeGroupSnapshot")
      assert.deepEqual((request as v1.CreateVolumeGroupSnapshotRequest).sourceVolumeIds, sources);
  assert.equal((await w.members()).length, 2);
  assert.equal(w.h.driver.backend.groups.size, 1);
});

test("a group snapshot whose driver is slow is bound and says what it waits for", async (t) => {
  const w = await groupWorld(t);
  await w.claims("data");
  let respond = () => {};
  const responded = new Promise<void>((resolve) => (respond = resolve));
  w.h.driver.faults.add({ method: "CreateVolumeGroupSnapshot", until: responded });
  await w.create("group");
  await w.reported("VolumeGroupSnapshot", "CreatingGroupSnapshot");
  const { status } = (await w.group()) ?? {};
  assert.deepEqual(
    [status?.readyToUse, typeof status?.boundVolumeGroupSnapshotContentName],
    [false, "string"],
  );
  respond();
  await w.ready();
});

test("the content has what the driver returned: its error, then its moment, and ready only with all members", async (t) => {
  covers("KEP-066");
  const w = await groupWorld(t);
  const { backend } = w.h.driver;
  const create = backend.createGroup.bind(backend);
  let refuse = true;
  backend.createGroup = (...wanted) => {
    if (refuse) throw CsiError.resourceExhausted("no room for three");
    return create(...wanted);
  };
  let [uploaded, whole] = [0, false];
  w.h.driver.changeGroup = (group) => ({
    ...group,
    readyToUse: whole,
    snapshots: group.snapshots.map((snapshot, at) => ({ ...snapshot, readyToUse: at < uploaded })),
  });
  await w.claims("data", "log");
  await w.create("group");
  await w.h.until("the content has the error", async () => {
    const [content] = (await w.h.store.list(VolumeGroupSnapshotContents)).items;
    return (
      /no room for three/.test(content?.status?.error?.message ?? "") && content?.status?.readyToUse !== true
    );
  });
  const seen: boolean[] = [];
  const stop = new AbortController();
  t.after(() => stop.abort());
  const contents = createInformer(w.h.store, VolumeGroupSnapshotContents, {});
  contents.onChange((_old, content?: VolumeGroupSnapshotContent) => {
    seen.push(content?.status?.readyToUse === true);
  });
  const watching = contents.run(stop.signal);
  await contents.synced(stop.signal);
  refuse = false;
  // Whatever it reports of the whole, or of the members without it.
  const unready: [number, boolean][] = [
    [0, false],
    [1, true],
    [2, false],
  ];
  for ([uploaded, whole] of unready) {
    const polls = w.h.driver.called("GetVolumeGroupSnapshot");
    await w.h.until("it is polled", () => w.h.driver.called("GetVolumeGroupSnapshot") >= polls + 2);
    const { status } = await w.content();
    assert.deepEqual([status?.readyToUse ?? false, status?.error], [false, undefined], `${uploaded} of 2`);
    assert.equal(Date.parse(status?.creationTime ?? ""), Date.parse("2023-11-14T22:13:20Z"));
  }
  assert.ok(!seen.includes(true), "at no moment before");
  whole = true;
  await w.ready();
  stop.abort();
  await watching;
  const { status } = await w.content();
  assert.deepEqual([status?.readyToUse, status?.error], [true, undefined]);
});

test("a driver may call a group by the name that it was given", async (t) => {
  covers("KEP-065");
  const w = await groupWorld(t);
  const { backend } = w.h.driver;
  const create = backend.createGroup.bind(backend);
  backend.createGroup = (name, volumeIds, polls) => {
    const group = create(name, volumeIds, polls);
    backend.groups.delete(group.id);
    group.id = name;
    backend.groups.set(name, group);
    return group;
  };
  await w.claims("data");
  const { metadata } = await w.create("group");
  await w.ready();
  assert.equal((await w.content()).status?.volumeGroupSnapshotHandle, `groupsnapshot-${metadata.uid}`);
  await w.remove();
  await w.gone();
  assert.equal(backend.groups.size, 0);
});

test("while the driver is away its content is made, and the call follows when it is back", async (t) => {
  covers("KEP-070");
  const w = await groupWorld(t);
  await w.claims("data");
  await w.h.driver.pause();
  await w.create("group");
  await w.h.until("the content is there and marked", async () => {
    const [content] = (await w.h.store.list(VolumeGroupSnapshotContents)).items;
    return content?.metadata.annotations?.[GROUP_BEING_CREATED] !== undefined;
  });
  assert.equal(w.h.driver.called("CreateVolumeGroupSnapshot"), 0);
  assert.deepEqual(await w.members(), []);
  await w.h.driver.listen();
  await w.ready();
});

test("a group of a name longer than a label is found by its owner alone", async (t) => {
  const w = await groupWorld(t);
  await w.claims("data");
  const name = "g".repeat(100);
  await w.create(name);
  await w.ready(name);
  const [member] = await w.members();
  assert.deepEqual(member?.metadata.labels ?? {}, {});
  assert.equal(member?.status?.volumeGroupSnapshotName, name);
});
