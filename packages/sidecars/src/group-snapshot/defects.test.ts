import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, type v1 } from "@mooring/csi";
import {
  type KubeObject,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  VolumeGroupSnapshotClasses,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { covers, sample } from "@mooring/store/testing";
import { memberNames } from "../common/group-snapshot-names.ts";
import { fresh, groupWorld, labelled, NS } from "../testing/group-world.ts";
import { groupClass, groupContent, groupSnapshot, volumeSnapshot } from "../testing/objects.ts";

/** Known defects of the controllers that clusters run today, each kept out by name. */

const key = (name: string) => ({ name, namespace: NS });
const CREATE = "CreateVolumeGroupSnapshot";
/** Until the test lets it come back: time never decides what is seen. */
const AWAY = { code: Code.UNAVAILABLE, times: Number.POSITIVE_INFINITY };
const DB = { matchLabels: { app: "db" } };

test("G1 matchExpressions select as Kubernetes does, also without matchLabels", async (t) => {
  covers("KEP-050");
  const w = await groupWorld(t);
  for (const [name, labels] of Object.entries({
    primary: { app: "db", role: "primary" },
    replica: { app: "db", role: "replica" },
    scratch: { app: "db", tmp: "yes", role: "primary" },
    web: { app: "web", role: "primary" },
    plain: {},
  }))
    await w.h.store.create(PersistentVolumeClaims, labelled(name, labels));
  const bound = async () =>
    (await w.h.store.list(PersistentVolumeClaims)).items.every(({ status }) => status?.phase === "Bound");
  await w.h.until("all are bound", bound);
  const rows: [name: string, expressions: object[], names: string[]][] = [
    ["in", [{ key: "app", operator: "In", values: ["db"] }], ["primary", "replica", "scratch"]],
    [
      "all-keep",
      [
        { key: "role", operator: "In", values: ["primary"] },
        { key: "tmp", operator: "DoesNotExist" },
      ],
      ["primary", "web"],
    ],
    ["not-in", [{ key: "app", operator: "NotIn", values: ["db"] }], ["plain", "web"]],
    ["exists", [{ key: "tmp", operator: "Exists" }], ["scratch"]],
  ];
  for (const [name, matchExpressions, names] of rows) {
    await w.create(name, { source: { selector: { matchExpressions } } });
    await w.ready(name);
    const calls = w.requests<v1.CreateVolumeGroupSnapshotRequest>(CREATE);
    assert.deepEqual(calls.at(-1)?.sourceVolumeIds, await w.handles(...names), name);
  }
});

test("G2 a group deleted right after its content was made, before its own status knew, leaves nothing", async (t) => {
  const w = await groupWorld(t);
  await w.claims("data");
  await w.create("group");
  const { metadata } = await w.ready();
  await w.h.stop();
  // As it is when the controller ended between the two writes.
  await w.h.store.updateStatus(VolumeGroupSnapshots, {
    ...(await w.h.store.get(VolumeGroupSnapshots, key("group"))),
    status: {},
  });
  await w.remove();
  await w.h.restart();
  await w.gone();
  assert.deepEqual((await w.h.store.list(VolumeGroupSnapshotContents)).items, []);
  assert.equal(w.h.driver.backend.groups.size, 0, metadata.uid);
});

test("G3 a content that is there already is read from the server before it is believed", async (t) => {
  const w = await groupWorld(t);
  await w.claims("data");
  await w.h.stop();
  const made = await w.create("group");
  const name = `groupsnapcontent-${made.metadata.uid}`;
  const foreign = groupContent(name, { volumeGroupSnapshotRef: { name: "x", namespace: NS, uid: "x" } });
  await w.h.store.create(
    VolumeGroupSnapshotContents,
    fresh({
      ...foreign,
      spec: { ...foreign.spec, driver: "test.csi.example.com", deletionPolicy: "Retain" },
    }),
  );
  w.h.driver.faults.add({ method: CREATE, code: Code.INVALID_ARGUMENT, times: Number.POSITIVE_INFINITY });
  await w.h.restart();
  await w.error(/belongs to another group snapshot/);
  const [call] = w.requests<v1.CreateVolumeGroupSnapshotRequest>(CREATE);
  assert.notEqual(call?.name, `groupsnapshot-${made.metadata.uid}`);
});

test("a member's name that is taken is reported on the group with a reason of its kind, and the other object stays", async (t) => {
  const w = await groupWorld(t);
  await w.claims("data");
  const [handle = ""] = await w.handles("data");
  await w.h.stop();
  const { metadata } = await w.create("group");
  const { snapshot } = memberNames(metadata.uid ?? "", handle);
  const source = { persistentVolumeClaimName: "no-such-claim" };
  await w.h.store.create(VolumeSnapshots, fresh(volumeSnapshot(snapshot, { source })));
  await w.h.restart();
  await w.reported("VolumeGroupSnapshot", "GroupSnapshotContentMisbound", /exists and is not for content/);
  assert.deepEqual((await w.h.store.get(VolumeSnapshots, key(snapshot))).spec.source, source);
});

test("G4 members that become ready later do so in the list, in their own objects, and only then in the group", async (t) => {
  const w = await groupWorld(t, { driver: { snapshotPolls: 2 } });
  // The driver calls the whole ready too early.
  w.h.driver.changeGroup = (group) => ({ ...group, readyToUse: true });
  await w.claims("data", "log");
  w.h.driver.faults.add({ method: "GetVolumeGroupSnapshot", ...AWAY });
  await w.create("group");
  await w.h.until("the members are bound", async () => {
    const members = await w.members();
    return members.length === 2 && members.every(({ status }) => status?.readyToUse === false);
  });
  assert.notEqual((await w.group())?.status?.readyToUse, true);
  w.h.driver.faults.clear();
  await w.ready();
  const { status } = await w.content();
  assert.deepEqual(
    status?.volumeSnapshotInfoList?.map(({ readyToUse }) => readyToUse),
    [true, true],
  );
  for (const each of [...(await w.members()), ...(await w.memberContents())])
    assert.equal(each.status?.readyToUse, true);
});

test("G5 a driver that cannot list snapshots is not taken for ready", async (t) => {
  const w = await groupWorld(t, {
    driver: { can: ["CREATE_DELETE_VOLUME", "CREATE_DELETE_SNAPSHOT"], snapshotPolls: 2 },
  });
  await w.claims("data");
  w.h.driver.faults.add({ method: "GetVolumeGroupSnapshot", ...AWAY });
  await w.create("group");
  await w.h.until(
    "the member is not ready",
    async () => (await w.members())[0]?.status?.readyToUse === false,
  );
  await w.h.until("it was asked in vain", () => w.h.driver.called("GetVolumeGroupSnapshot") > 0);
  assert.notEqual((await w.group())?.status?.readyToUse, true);
  w.h.driver.faults.clear();
  await w.ready();
  assert.ok(w.h.driver.called("GetVolumeGroupSnapshot") > 2);
});

test("G6 members of a group that is brought in are made for the user", async (t) => {
  const w = await groupWorld(t, { objects: [] });
  await w.claims("data", "log");
  const { id, snapshotIds } = w.h.driver.backend.createGroup("old", await w.handles("data", "log"), 0);
  const source = {
    groupSnapshotHandles: { volumeGroupSnapshotHandle: id, volumeSnapshotHandles: snapshotIds },
  };
  const ref = { name: "group", namespace: NS };
  await w.h.store.create(
    VolumeGroupSnapshotContents,
    fresh(groupContent("old", { source, volumeGroupSnapshotRef: ref })),
  );
  const spec = { source: { volumeGroupSnapshotContentName: "old" } };
  await w.h.store.create(VolumeGroupSnapshots, fresh(groupSnapshot("group", spec)));
  await w.ready();
  assert.equal((await w.members()).filter(({ status }) => status?.readyToUse).length, 2);
});

test("G7 the data of claims that go meanwhile are there until the snapshot is made", async (t) => {
  const w = await groupWorld(t);
  await w.claims("data", "log");
  w.h.driver.faults.add({ method: CREATE, ...AWAY });
  await w.create("group");
  await w.h.until("it was called", () => w.h.driver.called(CREATE) > 0);
  for (const name of ["data", "log"]) await w.h.store.delete(PersistentVolumeClaims, { name, namespace: NS });
  await w.h.until("the volumes are released", async () =>
    (await w.h.store.list(PersistentVolumes)).items.every(({ status }) => status?.phase === "Released"),
  );
  await w.h.restart();
  const tried = w.h.driver.called(CREATE);
  await w.h.until("it was called again", () => w.h.driver.called(CREATE) > tried);
  assert.equal(w.h.driver.called("DeleteVolume"), 0);
  w.h.driver.faults.clear();
  await w.ready();
  assert.equal((await w.members()).length, 2);
  await w.h.until("the volumes go", async () => (await w.h.store.list(PersistentVolumes)).items.length === 0);
});

test("G8 the class may go as soon as the content is there", async (t) => {
  const w = await groupWorld(t);
  await w.claims("data");
  w.h.driver.faults.add({ method: CREATE, ...AWAY });
  await w.create("group");
  await w.h.until("it was called", () => w.h.driver.called(CREATE) > 0);
  await w.h.store.delete(VolumeGroupSnapshotClasses, { name: "groups" });
  await w.h.restart();
  w.h.driver.faults.clear();
  await w.ready();
  assert.equal((await w.members()).length, 1);
  await w.remove();
  await w.gone();
  assert.equal(w.h.driver.backend.groups.size, 0);
});

test("G9 members know their claims when volumes and claims are gone, or another volume has the same handle", async (t) => {
  const w = await groupWorld(t);
  await w.claims("data");
  w.h.driver.faults.add({ method: CREATE, ...AWAY });
  await w.create("group");
  await w.h.until("it was called", () => w.h.driver.called(CREATE) > 0);
  const [volume] = (await w.h.store.list(PersistentVolumes)).items;
  assert.ok(volume);
  const { claimRef: _unclaimed, ...spec } = volume.spec ?? {};
  await w.h.store.create(PersistentVolumes, { ...volume, metadata: { name: "twin" }, spec } as never);
  w.h.driver.faults.clear();
  await w.ready();
  const [member] = await w.members();
  assert.equal(member?.spec.source.persistentVolumeClaimName, "data");
});

test("G10 the status of a member is never wiped, however often its group is read", async (t) => {
  const w = await groupWorld(t, { driver: { snapshotPolls: 5 } });
  await w.claims("data", "log");
  const wiped: string[] = [];
  const seen = new Set<string>();
  const stop = new AbortController();
  t.after(() => stop.abort());
  const watch = async (resource: Resource<KubeObject & { status?: object }>) => {
    for await (const event of w.h.store.watch(resource, { signal: stop.signal })) {
      if (event.type !== "ADDED" && event.type !== "MODIFIED") continue;
      const { metadata, status = {} } = event.object;
      const uid = metadata.uid ?? "";
      if (Object.keys(status).length > 0) seen.add(uid);
      else if (seen.has(uid)) wiped.push(metadata.name);
    }
  };
  const watching = [watch(VolumeSnapshots as never), watch(VolumeSnapshotContents as never)];
  await w.create("group");
  await w.ready();
  await w.h.until("both kinds were seen", () => seen.size === 4);
  stop.abort();
  await Promise.allSettled(watching);
  assert.deepEqual(wiped, []);
});

test("G11 every claim that is not eligible is named with its reason, in one go", async (t) => {
  const w = await groupWorld(t);
  await w.claims("data");
  for (const name of ["a", "b", "c"])
    await w.h.store.create(PersistentVolumeClaims, labelled(name, { app: "db" }, { volumeName: "nowhere" }));
  await w.create("group");
  await w.error(/claim a is not bound; claim b is not bound; claim c is not bound/);
  for (const name of ["a", "b", "c"])
    assert.equal(
      await w.reported(
        "PersistentVolumeClaim",
        "GroupSnapshotContentCreationFailed",
        new RegExp(`claim ${name}`),
      ),
      name,
    );
});

test("G12 a driver that gives no time gets none invented", async (t) => {
  const w = await groupWorld(t);
  w.h.driver.changeGroup = ({ creationTime: _none, ...group }) => ({
    ...group,
    snapshots: group.snapshots.map((each) => ({ ...each, creationTime: { seconds: 0n, nanos: 0 } })),
  });
  await w.claims("data");
  await w.create("group");
  const { status } = await w.ready();
  assert.equal(status?.creationTime, undefined);
  const content = await w.content();
  assert.equal(content.status?.creationTime, undefined);
  assert.equal(content.status?.volumeSnapshotInfoList?.[0]?.creationTime, undefined);
  assert.equal((await w.members())[0]?.status?.creationTime, undefined);
  await w.reported("VolumeGroupSnapshot", "GroupSnapshotReady");
});

test("G13 an empty selector is refused: nobody means every claim of a namespace", async (t) => {
  const w = await groupWorld(t);
  await w.claims("data");
  for (const [name, selector] of Object.entries({
    empty: {},
    hollow: { matchLabels: {}, matchExpressions: [] },
  })) {
    await w.create(name, { source: { selector } });
    await w.error(/the selector is empty and would select every claim/, name);
  }
  await w.reported("VolumeGroupSnapshot", "GroupSnapshotValidationError");
  assert.equal(w.h.driver.called(CREATE), 0);
});

test("G14 a policy that is changed on the content is that of its members, too", async (t) => {
  const w = await groupWorld(t);
  await w.claims("data", "log");
  await w.create("group");
  await w.ready();
  const { metadata } = await w.content();
  const body = { spec: { deletionPolicy: "Retain" } };
  await w.h.store.patch(VolumeGroupSnapshotContents, { name: metadata.name }, { type: "merge", body });
  await w.h.until("the members follow", async () =>
    (await w.memberContents()).every(({ spec }) => spec.deletionPolicy === "Retain"),
  );
  await w.remove();
  await w.gone();
  assert.equal((await w.memberContents()).length, 2);
  assert.equal(w.h.driver.backend.snapshots.size, 2);
});

test("G15 the default class has to be the only one of the volumes' driver, and the user's object is not written to", async (t) => {
  const annotations = { "groupsnapshot.storage.kubernetes.io/is-default-class": "true" };
  const make = (name: string): [Resource, KubeObject] => [
    VolumeGroupSnapshotClasses,
    groupClass({ metadata: { name, annotations } }),
  ];
  const w = await groupWorld(t, { objects: [make("one"), make("two")] });
  await w.claims("data");
  const spec = { source: { selector: DB } };
  await w.h.store.create(VolumeGroupSnapshots, fresh(groupSnapshot("group", spec)));
  await w.error(/2 default group snapshot classes were found for driver .*: one, two/);
  await w.reported("VolumeGroupSnapshot", "SetDefaultGroupSnapshotClassFailed");
  // Both at once for the controller: it would take the one that is left in between.
  await w.h.stop();
  await w.h.store.delete(VolumeGroupSnapshotClasses, { name: "one" });
  await w.h.store.delete(VolumeGroupSnapshotClasses, { name: "two" });
  await w.h.restart();
  await w.error(/cannot find a default group snapshot class for driver/);
  await w.h.store.create(...(make("three") as [typeof VolumeGroupSnapshotClasses, never]));
  const { spec: left } = await w.ready();
  assert.deepEqual(left, spec);
  assert.equal((await w.content()).spec.volumeGroupSnapshotClassName, "three");
});

test("G16 a store that fails is tried again until the group is ready", async (t) => {
  const w = await groupWorld(t);
  await w.claims("data", "log");
  const { store } = w.h;
  const [patch, create] = [store.patch.bind(store), store.create.bind(store)];
  let writes = 0;
  const flaky = (resource: Resource) => {
    if (!/groupsnapshot|volumesnapshot/.test(resource.plural)) return;
    writes += 1;
    if (writes % 3 === 1) throw new Error("the API server is away");
  };
  const group = await w.create("group");
  store.patch = (async (...args: Parameters<typeof patch>) => {
    flaky(args[0]);
    return patch(...args);
  }) as typeof store.patch;
  store.create = (async (...args: Parameters<typeof create>) => {
    flaky(args[0]);
    return create(...args);
  }) as typeof store.create;
  await w.ready();
  assert.ok(writes > 9, `${writes} writes for ${group.metadata.name}`);
  assert.equal(w.h.driver.backend.groups.size, 1);
  assert.equal((await w.members()).length, 2);
});

test("G17 a group has the time of all its members' snapshots: one time, the same on every member", async (t) => {
  const w = await groupWorld(t);
  await w.claims("data", "log");
  await w.create("group");
  const { status } = await w.ready();
  for (const member of await w.members()) assert.equal(member.status?.creationTime, status?.creationTime);
});

const faults: [title: string, change: (snapshots: object[]) => object[], error: RegExp][] = [
  ["no member at all", () => [], /returned no member snapshot/],
  ["a member too few", (snapshots) => snapshots.slice(1), /missing: vol-/],
  [
    "a member that nobody asked for",
    ([first, ...rest]) => [{ ...first, sourceVolumeId: "vol-x" }, ...rest],
    /not asked for: vol-x/,
  ],
  ["a member twice", ([first]) => [{ ...first }, { ...first }], /come twice/],
];
for (const [title, change, error] of sample(faults, { everyday: 1 }))
  test(`a response with ${title} is a fault: no members and never ready, until the driver's response is right`, async (t) => {
    covers("KEP-022");
    const w = await groupWorld(t);
    w.h.driver.changeGroup = (group) => ({ ...group, snapshots: change(group.snapshots) as never });
    await w.claims("data", "log");
    await w.create("group");
    const { status } = await w.error(error);
    assert.equal(status?.readyToUse, false);
    assert.deepEqual(await w.members(), []);
    w.h.driver.changeGroup = (group) => group;
    const ready = await w.ready();
    assert.equal(ready.status?.error, undefined);
    await w.remove();
    await w.gone();
    assert.equal(w.h.driver.backend.snapshots.size, 0);
  });
