import assert from "node:assert/strict";
import { test } from "node:test";
import { CsiError } from "@mooring/csi";
import { Events, PersistentVolumeClaims, PersistentVolumes } from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { VolumeGroupClasses, VolumeGroups } from "../kube/volume-group.ts";
import { claim } from "../testing/objects.ts";
import { assertGrowing, timesOf } from "../testing/times.ts";
import { volumeGroupClass } from "./testing/objects.ts";
import { at, joined, makeGroup, membersOf, startWorld } from "./testing/world.ts";

test("claims that cannot be members each have a reason, in the group and on themselves, and delay nobody", async (t) => {
  const w = await startWorld(t);
  const app = { app: "db" };
  await w.store.delete(VolumeGroupClasses, { name: "groups" });
  await w.store.create(VolumeGroupClasses, volumeGroupClass({ maxMembers: 2 }));
  await w.claim("first", app);
  await w.claim("second", app);
  await w.claim("taken", { app: "old", also: "x" });
  await makeGroup(w, "old", ["taken"]);
  await w.claim("elsewhere", app, { annotations: { "storage.mooring.dev/volume-group": "nowhere" } });
  await w.claim("foreign", app, { driver: "other.example.com" });
  const { uid: _uid, ...metadata } = claim("unbound", {}, { labels: app }).metadata;
  await w.store.create(PersistentVolumeClaims, { ...claim("unbound"), metadata });
  await w.claim("zz-late", app);
  const spec = { source: { selector: { matchLabels: app }, claimNames: ["absent", "first", "taken"] } };
  const group = await makeGroup(w, "db", ["first", "second"], spec);
  assert.deepEqual(membersOf(group), [
    "absent: Waiting ClaimMissing",
    "elsewhere: LeftOut NamesAnotherGroup",
    "first: Joined Joined",
    "foreign: LeftOut OtherDriver",
    "second: Joined Joined",
    "taken: LeftOut InAnotherGroup",
    "unbound: Waiting NotBound",
    "zz-late: LeftOut TooManyMembers",
  ]);
  for (const [left, why] of [
    ["foreign", /other\.example\.com/],
    ["zz-late", /may have 2/],
    ["elsewhere", /asks for VolumeGroup nowhere/],
  ] as const)
    await w.until(`the event of ${left}`, async () => {
      const { items } = await w.store.list(Events);
      return items.some(
        ({ involvedObject, message = "", reason }) =>
          involvedObject.name === left && reason === "LeftOutOfVolumeGroup" && why.test(message),
      );
    });
});

test("a claim stays with the group that has it, and goes over when that lets it go", async (t) => {
  const w = await startWorld(t);
  await w.claim("data", { app: "one" });
  await makeGroup(w, "one", ["data"]);
  const selector = { matchExpressions: [{ key: "app", operator: "Exists" as const }] };
  const second = await makeGroup(w, "two", [], { source: { selector } });
  assert.deepEqual(membersOf(second), ["data: LeftOut InAnotherGroup"]);
  await w.label("data", { app: "free" });
  await w.group("two", joined("data"));
  assert.deepEqual([w.stored("vg-1"), w.stored("vg-2")], [[], ["vol-data"]]);
});

test("a claim can be born into a group, and names it itself; it moves when it names another", async (t) => {
  const w = await startWorld(t);
  await makeGroup(w, "one", [], { source: {} });
  await makeGroup(w, "two", [], { source: {} });
  const wish = (group: string) => ({ "storage.mooring.dev/volume-group": group });
  await w.claim("data", {}, { annotations: wish("one") });
  await w.group("one", joined("data"));
  await w.store.patch(PersistentVolumeClaims, at("data"), {
    type: "merge",
    body: { metadata: { annotations: wish("two") } },
  });
  await w.group("two", joined("data"));
  assert.deepEqual([w.stored("vg-1"), w.stored("vg-2")], [[], ["vol-data"]]);
});

test("a claim that is deleted leaves the group first, and is gone then", async (t) => {
  covers("GRP-031");
  const w = await startWorld(t);
  await w.claim("data", { app: "db" });
  await w.claim("wal", { app: "db" });
  await makeGroup(w, "db", ["data", "wal"]);
  let finalizers: string[] | undefined;
  w.driver.faults.add({ method: "ModifyVolumeGroupMembership", delayMs: 200 });
  await w.store.delete(PersistentVolumeClaims, at("data"));
  const leaving = await w.find(PersistentVolumeClaims, "data", "default");
  if (leaving !== undefined) finalizers = leaving.metadata.finalizers;
  assert.deepEqual(finalizers, ["storage.mooring.dev/volume-group-member"]);
  await w.group("db", joined("wal"));
  assert.equal(await w.find(PersistentVolumeClaims, "data", "default"), undefined);
  assert.deepEqual(w.stored("vg-1"), ["vol-wal"]);
});

test("an empty selector selects nothing, and a selector that nobody can mean is reported", async (t) => {
  const w = await startWorld(t);
  await w.claim("data", { app: "db" });
  const empty = await makeGroup(w, "empty", [], { source: { selector: {} } });
  assert.deepEqual(membersOf(empty), []);
  const selector = { matchExpressions: [{ key: "app", operator: "Sounds" as "In", values: ["like"] }] };
  const bad = await makeGroup(w, "bad", [], { source: { selector } });
  const degraded = bad.status?.conditions?.find(({ type }) => type === "Degraded");
  assert.equal(degraded?.reason, "SelectorInvalid");
  // No claim has such a label: taken at its word, it selects all of them.
  const slip = { matchExpressions: [{ key: "not a label", operator: "DoesNotExist" as const }] };
  const all = await makeGroup(w, "all", [], { source: { selector: slip } });
  assert.deepEqual(membersOf(all), []);
  const why = all.status?.conditions?.find(({ type }) => type === "Degraded");
  assert.match(why?.message ?? "", /"not a label" in a label selector is not a label key/);
});

test("one volume that the driver refuses is found, and the others are members", async (t) => {
  covers("GRP-026", "GRP-027");
  const w = await startWorld(t);
  const names = Array.from({ length: 12 }, (_, index) => `c${index + 10}`);
  const bad = ["c13", "c18"];
  for (const name of bad)
    w.driver.volumeGroups.refused.set(
      `vol-${name}`,
      CsiError.failedPrecondition(`vol-${name} is on another array`),
    );
  for (const name of names) await w.claim(name, { app: "db" });
  const good = names.filter((name) => !bad.includes(name));
  const group = await makeGroup(w, "db", good);
  const out = group.status?.members?.filter(({ state }) => state === "LeftOut");
  assert.deepEqual(
    out?.map(({ claimName, message, reason }) => [claimName, reason, message]),
    bad.map((name) => [name, "RefusedByDriver", `vol-${name} is on another array`]),
  );
  w.driver.volumeGroups.refused.clear();
  await w.group("db", joined(...names));
});

test("a group that is full on the storage side is asked less and less often, and at once when a place is free", async (t) => {
  covers("GRP-056", "GRP-057");
  const retry = { startMs: 25, maxMs: 60_000, infeasibleMs: 60_000 };
  const w = await startWorld(t, { sidecars: { retry } });
  w.driver.volumeGroups.mostMembers = 1;
  await w.claim("a", { app: "db" });
  await makeGroup(w, "db", ["a"]);
  const times = timesOf(w, "ModifyVolumeGroupMembership", (request) => {
    return (request as { volumeIds: string[] }).volumeIds.length === 2;
  });
  await w.claim("b", { app: "db" });
  await w.until("four attempts", () => times.length >= 4);
  assertGrowing(times, retry.startMs);
  const full = await w.group("db", (group) => membersOf(group).includes("b: LeftOut RefusedByDriver"));
  assert.ok(full.status?.members?.some(({ message }) => /at most 1 volumes/.test(message)));
  await w.label("a", { app: null });
  await w.group("db", joined("b"));
});

test("what is refused as incompatible is never sent again as it was", async (t) => {
  covers("GRP-053", "GRP-023", "GRP-045");
  const w = await startWorld(t);
  w.driver.volumeGroups.refused.set(
    "vol-b",
    CsiError.invalidArgument("vol-b cannot be in a group with vol-a"),
  );
  await w.claim("a", { app: "db" });
  await w.claim("b", { app: "db" });
  await makeGroup(w, "db", ["a"]);
  const sets = () =>
    w.driver.calls
      .filter(({ method }) => method === "ModifyVolumeGroupMembership")
      .map(({ request }) => [...(request as { volumeIds: string[] }).volumeIds].sort().join());
  await w.claim("c", { app: "db" });
  await w.group("db", joined("a", "c"));
  const asked = sets();
  assert.equal(new Set(asked).size, asked.length, asked.join(" / "));
  for (const { method, request } of w.driver.calls)
    if (method === "ModifyVolumeGroupMembership")
      assert.deepEqual({ ...(request as { parameters: object }).parameters }, {});

  w.driver.faults.add({ method: "CreateVolumeGroup", code: 3, message: "no such tier", times: 1_000 });
  const { uid: _uid, ...metadata } = { ...(await w.store.get(VolumeGroups, at("db"))).metadata };
  await w.store.create(VolumeGroups, {
    apiVersion: "storage.mooring.dev/v1alpha1",
    kind: "VolumeGroup",
    metadata: { name: "odd", namespace: metadata.namespace ?? "" },
    spec: { volumeGroupClassName: "groups", source: {} },
  });
  const odd = await w.group(
    "odd",
    ({ status }) => status?.conditions?.some(({ message }) => message === "no such tier") === true,
  );
  assert.equal(odd.status?.ready, false);
  const before = w.driver.called("CreateVolumeGroup");
  await w.claim("d", { app: "db" });
  await w.group("db", joined("a", "c", "d"));
  await w.store.patch(VolumeGroups, at("odd"), {
    type: "merge",
    body: { metadata: { labels: { touched: "1" } } },
  });
  await w.claim("e", { app: "db" });
  await w.group("db", joined("a", "c", "d", "e"));
  assert.equal(w.driver.called("CreateVolumeGroup"), before);
  await w.store.delete(VolumeGroups, at("odd"));
  await w.until("odd ends", async () => (await w.find(VolumeGroups, "odd", "default")) === undefined);
});

test("a claim without its PersistentVolume keeps its place in the group until it is deleted", async (t) => {
  const w = await startWorld(t);
  const data = await w.claim("data", { app: "db" });
  await makeGroup(w, "db", ["data"]);
  await w.store.delete(PersistentVolumes, { name: data.spec?.volumeName ?? "" });
  await w.group("db", (group) => membersOf(group)[0] === "data: Lost VolumeMissing");
  await w.claim("wal", { app: "db" });
  await w.group("db", joined("wal"));
  assert.deepEqual(w.stored("vg-1"), ["vol-data", "vol-wal"]);
  await w.store.delete(PersistentVolumeClaims, at("data"));
  await w.until("the volume leaves", () => w.stored("vg-1").join() === "vol-wal");
});
