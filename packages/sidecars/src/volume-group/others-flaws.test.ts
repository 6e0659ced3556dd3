import assert from "node:assert/strict";
import { test } from "node:test";
import { Code } from "@mooring/csi";
import {
  Events,
  type LocalStore,
  type ObjectKey,
  type ObjectStore,
  type Patch,
  PersistentVolumeClaims,
  type Resource,
} from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { VolumeGroupClasses, VolumeGroupContents, VolumeGroups } from "../kube/volume-group.ts";
import { claim } from "../testing/objects.ts";
import { importedGroup, volumeGroup, volumeGroupClass, volumeGroupContent } from "./testing/objects.ts";
import { at, isTrue, joined, makeGroup, membersOf, startWorld, type World } from "./testing/world.ts";

/** What operators of other makers are known to do wrong; test/structure/group-flaws.test.ts has the whole list. */

const patchGroup = (w: World, name: string, body: object) =>
  w.store.patch(VolumeGroups, at(name), { type: "merge", body });
const modified = (w: World) => w.driver.called("ModifyVolumeGroupMembership");
const withClass = async (w: World, changes: Parameters<typeof volumeGroupClass>[0]) => {
  await w.store.delete(VolumeGroupClasses, { name: "groups" });
  await w.store.create(VolumeGroupClasses, volumeGroupClass(changes));
};

test("groups of two namespaces whose claims have the same names and labels never see each other's", async (t) => {
  const w = await startWorld(t);
  for (const namespace of ["default", "other"])
    for (const name of ["data", "wal"]) await w.claim(name, { app: "db" }, { namespace });
  await w.claim("third", { app: "db" }, { namespace: "other" });
  await makeGroup(w, "db", ["data", "wal"]);
  assert.deepEqual(w.stored("vg-1"), ["vol-data", "vol-wal"]);
  for (const name of ["data", "wal", "third"]) {
    const { metadata } = await w.store.get(PersistentVolumeClaims, at(name, "other"));
    assert.deepEqual([metadata.finalizers ?? [], metadata.annotations ?? {}], [[], {}], `other/${name}`);
  }
  const { metadata, spec } = await w.store.get(VolumeGroups, at("db"));
  const twin = { name: metadata.name, namespace: "other" };
  await w.store.create(VolumeGroups, {
    ...(await w.store.get(VolumeGroups, at("db"))),
    metadata: twin,
    spec,
  });
  await w.group("db", joined("data", "third", "wal"), "other");
  const before = modified(w);
  await w.store.patch(PersistentVolumeClaims, at("data", "other"), {
    type: "merge",
    body: { metadata: { labels: { touched: "1" } } },
  });
  await w.claim("extra", { app: "db" });
  await w.group("db", joined("data", "extra", "wal"));
  assert.equal(modified(w), before + 1, "one call, for the group that has changed");
  assert.deepEqual(w.stored("vg-2"), ["vol-other-data", "vol-other-third", "vol-other-wal"]);
});

test("claims without a class, of no class or of one that is gone delay no group, bound or not, here or elsewhere", async (t) => {
  const w = await startWorld(t);
  const labels = { app: "db" };
  for (const namespace of ["default", "other"]) {
    for (const [name, storageClassName] of [
      ["classless", ""],
      ["orphaned", "deleted-long-ago"],
    ] as const) {
      const { uid: _uid, ...metadata } = { ...claim(name).metadata, labels, namespace };
      await w.store.create(PersistentVolumeClaims, { ...claim(name, { storageClassName }), metadata });
      // Volumes that were made by hand: the group takes them, for nothing about a member is asked of its class.
      await w.claim(`${name}-bound`, labels, { storageClassName, namespace });
    }
    const { uid: _uid, ...metadata } = { ...claim("unsaid").metadata, labels, namespace };
    const { storageClassName: _none, ...spec } = claim("unsaid").spec ?? {};
    await w.store.create(PersistentVolumeClaims, { ...claim("unsaid"), metadata, spec });
  }
  await w.claim("data", labels);
  const bound = ["classless-bound", "data", "orphaned-bound"];
  const members = membersOf(await makeGroup(w, "db", bound)).sort();
  const waiting = ["classless", "orphaned", "unsaid"].map((name) => `${name}: Waiting NotBound`);
  assert.deepEqual(members, [...waiting, ...bound.map((name) => `${name}: Joined Joined`)].sort());
});

test("every claim of a group goes with it when all are to go, whatever their number", async (t) => {
  const w = await startWorld(t);
  await withClass(w, { deleteMembers: "true" });
  const names = ["a", "b", "c", "d", "e"];
  for (const name of names) await w.claim(name, { app: "db" });
  await makeGroup(w, "db", names);
  await w.store.delete(VolumeGroups, at("db"));
  await w.until("the group is gone", async () => (await w.store.list(VolumeGroups)).items.length === 0);
  assert.deepEqual((await w.store.list(PersistentVolumeClaims)).items, []);
  assert.deepEqual(
    [...w.driver.volumeGroups.deletedVolumes].sort(),
    names.map((name) => `vol-${name}`),
  );
});

test("a full group is a small object, and what happens to its claims otherwise costs no call", async (t) => {
  const w = await startWorld(t, { sidecars: { volumeGroup: { driftMs: 3_600_000 } } });
  await withClass(w, { maxMembers: 40 });
  const names = Array.from({ length: 40 }, (_, index) => `c${index + 100}`);
  for (const name of names)
    await w.claim(name, { app: "db" }, { annotations: { "example.com/note": "x".repeat(4_000) } });
  const group = await makeGroup(w, "db", names);
  const bytes = JSON.stringify(group.status).length;
  assert.ok(bytes < 12_000, `${bytes} bytes of status for 40 members`);
  const before = modified(w);
  for (const name of names.slice(0, 20)) await w.label(name, { touched: "1" });
  // Everything before it has been read when this one is in.
  await w.claim("d", { app: "db" });
  await w.group("db", (seen) => seen.status?.members?.some((each) => each.claimName === "d") === true);
  assert.equal(modified(w), before, "the group is full, and nothing else has changed");
});

test("a claim is protected before its volume is put into the group, and until it is out", async (t) => {
  const w = await startWorld(t);
  const data = await w.claim("data", { app: "db" });
  const held: [sent: number, finalizers: string][] = [];
  const get = async (request: object) => {
    const { metadata } = await w.store.get(PersistentVolumeClaims, at("data"));
    held.push([(request as { volumeIds: string[] }).volumeIds.length, (metadata.finalizers ?? []).join()]);
  };
  const seen: Promise<void>[] = [];
  w.driver.faults.add({
    method: "ModifyVolumeGroupMembership",
    // Long enough to read, and no test of time: what is seen then stays until the call returns.
    delayMs: 100,
    times: 2,
    when: (request) => {
      seen.push(get(request));
      return true;
    },
  });
  await makeGroup(w, "db", ["data"]);
  await w.label(data.metadata.name, { app: null });
  await w.group("db", joined());
  await Promise.all(seen);
  assert.deepEqual(held, [
    [1, "storage.mooring.dev/volume-group-member"],
    [0, "storage.mooring.dev/volume-group-member"],
  ]);
});

test("a group's creation time, its spec and its events stay as they are, however often it is read", async (t) => {
  let ahead = 0;
  const w = await startWorld(t, {
    sidecars: { volumeGroup: { driftMs: 30 }, now: () => Date.now() + ahead },
  });
  await w.claim("data", { app: "db" });
  const made = await makeGroup(w, "db", ["data"]);
  const events = async () =>
    (await w.store.list(Events)).items.map(
      ({ count, metadata, reason }) => `${metadata.name} ${reason} ${count}`,
    );
  await w.until("its events", async () => (await events()).length >= 2);
  const before = (await events()).sort();
  const reads = w.driver.called("ControllerGetVolumeGroup");
  for (let round = 0; round < 10; round += 1) {
    ahead += 60_000;
    await w.label("data", { round: `${round}` });
  }
  await w.until("ten more reads", () => w.driver.called("ControllerGetVolumeGroup") >= reads + 10);
  const now = await w.store.get(VolumeGroups, at("db"));
  assert.deepEqual(
    [now.spec, now.metadata.generation],
    [volumeGroup("db").spec, 1],
    "the spec is the user's",
  );
  assert.deepEqual(now.status, made.status);
  assert.deepEqual((await events()).sort(), before);
  await w.restart();
  const again = w.driver.called("ControllerGetVolumeGroup");
  await w.until("read by the next life", () => w.driver.called("ControllerGetVolumeGroup") > again + 1);
  assert.deepEqual((await w.store.get(VolumeGroups, at("db"))).status, made.status);
});

test("what a group waits for wakes it, without any repetition", async (t) => {
  const never = { startMs: 3_600_000, maxMs: 3_600_000, infeasibleMs: 3_600_000 };
  const w = await startWorld(t, { sidecars: { retry: never } });
  const { uid: _uid, ...metadata } = importedGroup("db", "old").metadata;
  await w.store.create(VolumeGroups, { ...importedGroup("db", "old", { claimNames: [] }), metadata });
  await w.group("db", ({ status }) => status?.conditions?.[0]?.reason === "ContentMissing");
  w.driver.volumeGroups.groups.set("vg-old", {
    id: "vg-old",
    name: "x",
    parameters: "[]",
    members: new Set(),
  });
  const content = volumeGroupContent("old", { source: { volumeGroupHandle: "vg-old" } });
  await w.store.create(VolumeGroupContents, { ...content, metadata: { name: "old" } });
  await w.group("db", isTrue("Ready"));
  await w.store.delete(VolumeGroupClasses, { name: "groups" });
  const spec = { volumeGroupClassName: "groups", source: { claimNames: ["data"] } };
  await w.store.create(VolumeGroups, { ...importedGroup("late", ""), metadata: at("late"), spec });
  await w.group("late", ({ status }) => status?.conditions?.[0]?.reason === "ClassMissing");
  await w.store.create(VolumeGroupClasses, volumeGroupClass());
  await w.group("late", isTrue("Ready"));
  await w.claim("data");
  await w.group("late", joined("data"));
});

test("a group that has the name of an earlier one is another group", async (t) => {
  const w = await startWorld(t);
  await withClass(w, { deletionPolicy: "Retain" });
  await w.claim("data", { app: "db" });
  const first = await makeGroup(w, "db", ["data"]);
  await w.store.delete(VolumeGroups, at("db"));
  await w.until("it is gone", async () => (await w.find(VolumeGroups, "db", "default")) === undefined);
  w.driver.volumeGroups.get("vg-1").members.clear();
  const second = await makeGroup(w, "db", ["data"]);
  assert.notEqual(second.status?.boundVolumeGroupContentName, first.status?.boundVolumeGroupContentName);
  assert.deepEqual([w.stored("vg-1"), w.stored("vg-2")], [[], ["vol-data"]]);
  const old = await w.find(VolumeGroupContents, first.status?.boundVolumeGroupContentName ?? "");
  assert.equal(old?.spec.volumeGroupRef.uid, first.metadata.uid, "the content of the first stays its own");
});

test("a group does not take the content of an earlier one that had its name", async (t) => {
  const w = await startWorld(t);
  await withClass(w, { deletionPolicy: "Retain" });
  await w.claim("data", { app: "db" });
  const first = await makeGroup(w, "db", ["data"]);
  await w.store.delete(VolumeGroups, at("db"));
  await w.until("it is gone", async () => (await w.find(VolumeGroups, "db", "default")) === undefined);
  const wanted = importedGroup("db", first.status?.boundVolumeGroupContentName ?? "", { claimNames: [] });
  const { uid: _uid, ...metadata } = wanted.metadata;
  await w.store.create(VolumeGroups, { ...wanted, metadata });
  const { status } = await w.group("db", ({ status: s }) => s?.conditions?.[0]?.reason === "ContentMismatch");
  assert.match(status?.conditions?.[0]?.message ?? "", /is for VolumeGroup default\/db, or one that is gone/);
});

/** Just before each first write of the finalizers of an object, somebody else writes theirs. */
function withRivals(store: LocalStore, theirs: string): ObjectStore {
  const met = new Set<string>();
  const patch = async (resource: Resource, key: ObjectKey, what: Patch, options?: object) => {
    const { finalizers } = (what.body as { metadata?: { finalizers?: string[] } }).metadata ?? {};
    if (finalizers !== undefined && !met.has(`${resource.plural} ${key.name}`)) {
      met.add(`${resource.plural} ${key.name}`);
      const metadata = { finalizers: [theirs], annotations: { [theirs]: "yes" } };
      await store.patch(resource, key, { type: "merge", body: { metadata } });
    }
    return store.patch(resource, key, what, options);
  };
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = name === "patch" ? patch : Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

test("what others write on the group and its claims at the same time stays there", async (t) => {
  const theirs = "example.com/keep";
  const w = await startWorld(t, { serve: async (store) => withRivals(store, theirs) });
  await w.claim("data", { app: "db" });
  const group = await makeGroup(w, "db", ["data"]);
  const { metadata } = await w.store.get(PersistentVolumeClaims, at("data"));
  assert.deepEqual(metadata.finalizers, [theirs, "storage.mooring.dev/volume-group-member"]);
  assert.deepEqual(group.metadata.finalizers, [theirs, "storage.mooring.dev/volume-group"]);
  assert.equal(group.metadata.annotations?.[theirs], "yes");
  await w.store.delete(VolumeGroups, at("db"));
  await w.until("only theirs is left", async () => {
    const left = await w.store.get(VolumeGroups, at("db"));
    return left.metadata.finalizers?.join() === theirs;
  });
  const after = (await w.store.get(PersistentVolumeClaims, at("data"))).metadata;
  assert.deepEqual([after.finalizers, after.annotations], [[theirs], { [theirs]: "yes" }]);
  await patchGroup(w, "db", { metadata: { finalizers: [] } });
});

test("which group on the storage system is meant stands where users do not write", async (t) => {
  const w = await startWorld(t);
  const group = await makeGroup(w, "db", []);
  const name = group.status?.boundVolumeGroupContentName ?? "";
  const content = await w.find(VolumeGroupContents, name);
  assert.deepEqual([content?.spec.source, content?.status?.volumeGroupHandle], [undefined, "vg-1"]);
  assert.ok(!JSON.stringify(group.spec).includes("vg-1"));
  const foreign = { id: "vg-theirs", name: "theirs", parameters: "[]", members: new Set(["vol-x"]) };
  w.driver.volumeGroups.groups.set("vg-theirs", foreign);
  await w.store.patch(
    VolumeGroupContents,
    { name },
    { type: "merge", body: { spec: { source: { volumeGroupHandle: "vg-theirs" } } } },
  );
  await w.claim("data", { app: "db" });
  await w.group("db", joined("data"));
  await w.store.delete(VolumeGroups, at("db"));
  await w.until("the group ends", async () => (await w.find(VolumeGroups, "db", "default")) === undefined);
  assert.deepEqual([...w.driver.volumeGroups.groups.keys()], ["vg-theirs"]);
  assert.deepEqual([...foreign.members], ["vol-x"]);
});

for (const [code, why] of [
  [Code.INVALID_ARGUMENT, "no such tier"],
  [Code.ALREADY_EXISTS, "the name is taken by another tier"],
] as const)
  test(`a creation that is refused with ${code} is not sent again before its arguments change`, async (t) => {
    covers("GRP-023", "GRP-025");
    const w = await startWorld(t);
    w.driver.faults.add({ method: "CreateVolumeGroup", code, message: why, times: Number.POSITIVE_INFINITY });
    await w.store.create(VolumeGroups, {
      apiVersion: "storage.mooring.dev/v1alpha1",
      kind: "VolumeGroup",
      metadata: at("odd"),
      spec: { volumeGroupClassName: "groups", source: {} },
    });
    await w.group("odd", ({ status }) => status?.conditions?.some((each) => each.message === why) === true);
    for (let round = 0; round < 3; round += 1) {
      await patchGroup(w, "odd", { metadata: { labels: { round: `${round}` } } });
      await patchGroup(w, "odd", { spec: { source: { claimNames: [`c${round}`] } } });
      await w.group("odd", ({ metadata, status }) => status?.observedGeneration === metadata.generation);
    }
    assert.equal(w.driver.called("CreateVolumeGroup"), 1);
    const sent = w.driver.calls.find(({ method }) => method === "CreateVolumeGroup")?.request;
    // Deleted and made anew it is another name, which may be asked for.
    w.driver.faults.clear();
    await w.store.delete(VolumeGroups, at("odd"));
    await w.until("odd ends", async () => (await w.find(VolumeGroups, "odd", "default")) === undefined);
    await makeGroup(w, "odd", []);
    const names = w.driver.calls.flatMap(({ method, request }) =>
      method === "CreateVolumeGroup" ? [(request as { name: string }).name] : [],
    );
    assert.equal(new Set(names).size, names.length, `${names.join()} after ${JSON.stringify(sent)}`);
  });
