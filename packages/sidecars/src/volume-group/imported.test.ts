import assert from "node:assert/strict";
import { test } from "node:test";
import { Code } from "@mooring/csi";
import { Events, PersistentVolumeClaims } from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { VolumeGroupClasses, VolumeGroupContents, VolumeGroups } from "../kube/volume-group.ts";
import { assertGrowing, timesOf } from "../testing/times.ts";
import { importedGroup, volumeGroupContent } from "./testing/objects.ts";
import { at, isTrue, joined, makeGroup, membersOf, startWorld, type World } from "./testing/world.ts";

async function bringIn(
  w: World,
  source: Parameters<typeof importedGroup>[2] = {},
  spec: Parameters<typeof volumeGroupContent>[1] = {},
) {
  const { uid: _uid, ...metadata } = importedGroup("db", "old").metadata;
  const content = volumeGroupContent("old", { source: { volumeGroupHandle: "vg-1" }, ...spec });
  await w.store.create(VolumeGroupContents, { ...content, metadata: { name: "old" } });
  await w.store.create(VolumeGroups, { ...importedGroup("db", "old", source), metadata });
}

const existing = (w: World, ...volumes: string[]) => {
  w.driver.volumeGroups.groups.set("vg-1", {
    id: "vg-1",
    name: "by hand",
    parameters: "[]",
    members: new Set(volumes),
  });
};

test("a group that exists is brought in with the members that it has, and follows the storage system", async (t) => {
  const w = await startWorld(t, { sidecars: { volumeGroup: { driftMs: 50 } } });
  existing(w, "vol-data", "vol-strange");
  await w.claim("data");
  await w.claim("wal");
  await bringIn(w);
  await w.group("db", joined("data"));
  assert.deepEqual(w.stored("vg-1"), ["vol-data", "vol-strange"]);
  assert.equal(w.driver.called("ModifyVolumeGroupMembership"), 0, "nothing was changed");
  const { metadata } = await w.store.get(PersistentVolumeClaims, at("data"));
  assert.deepEqual(metadata.finalizers, ["storage.mooring.dev/volume-group-member"]);
  existing(w, "vol-wal");
  await w.group("db", joined("wal"));
  assert.equal(w.driver.called("ModifyVolumeGroupMembership"), 0);
});

test("a group that is brought in with a selector is added to; what was in it stays, until its content says Repair", async (t) => {
  const w = await startWorld(t);
  existing(w, "vol-strange");
  await w.claim("data", { app: "db" });
  await bringIn(w, { selector: { matchLabels: { app: "db" } } });
  const group = await w.group("db", joined("data"));
  assert.deepEqual(w.stored("vg-1"), ["vol-data", "vol-strange"]);
  const degraded = group.status?.conditions?.find(({ type }) => type === "Degraded");
  assert.match(`${degraded?.reason}: ${degraded?.message}`, /^MembershipDrift: .*put in: vol-strange/);
  await w.label("data", { app: null });
  await w.until("data leaves", () => w.stored("vg-1").join() === "vol-strange");
  await w.store.patch(
    VolumeGroupContents,
    { name: "old" },
    { type: "merge", body: { spec: { driftPolicy: "Repair" } } },
  );
  await w.until("the foreign volume leaves", () => w.stored("vg-1").length === 0);
});

test("a content that is for another group, or of nothing, is not taken; each reports why", async (t) => {
  const w = await startWorld(t);
  const why = (text: RegExp) =>
    w.group("db", ({ status }) => status?.conditions?.some(({ message }) => text.test(message)) === true);
  const { uid: _uid, ...metadata } = importedGroup("db", "old").metadata;
  await w.store.create(VolumeGroups, { ...importedGroup("db", "old"), metadata });
  await why(/VolumeGroupContent old does not exist/);
  const other = volumeGroupContent("old", {
    source: { volumeGroupHandle: "vg-1" },
    volumeGroupRef: { name: "else", namespace: "default" },
  });
  await w.store.create(VolumeGroupContents, { ...other, metadata: { name: "old" } });
  await why(/is for VolumeGroup default\/else/);
  await w.store.delete(VolumeGroupContents, { name: "old" });
  const right = volumeGroupContent("old", { source: { volumeGroupHandle: "vg-1" } });
  await w.store.create(VolumeGroupContents, { ...right, metadata: { name: "old" } });
  await why(/volume group vg-1 does not exist/);
  existing(w);
  await w.group("db", isTrue("Ready"));
  await w.store.delete(VolumeGroups, at("db"));
  await w.until("it ends", () => w.driver.volumeGroups.groups.size === 0);
});

for (const can of [
  ["modify", "list"],
  ["modify", "get"],
] as const)
  test(`drift is seen by ${can[1]} and repaired, once per change`, async (t) => {
    covers("GRP-059");
    const w = await startWorld(t, {
      driver: { volumeGroups: can },
      sidecars: { volumeGroup: { driftMs: 60 } },
    });
    w.driver.pageSize = 1;
    await w.claim("data", { app: "db" });
    await w.claim("wal", { app: "db" });
    await makeGroup(w, "second", []);
    await makeGroup(w, "db", ["data", "wal"]);
    const members = [...w.driver.volumeGroups.groups.values()].find(({ members: in_ }) => in_.size > 0);
    assert.ok(members);
    const modified = w.driver.called("ModifyVolumeGroupMembership");
    members.members = new Set(["vol-data", "vol-intruder"]);
    await w.until("it is repaired", () => [...members.members].sort().join() === "vol-data,vol-wal");
    assert.equal(w.driver.called("ModifyVolumeGroupMembership"), modified + 1);
    await w.until("the event", async () => {
      const { items } = await w.store.list(Events);
      return items.some(
        ({ message = "", reason }) =>
          reason === "MembershipDrift" && /taken out: vol-wal; put in: vol-intruder/.test(message),
      );
    });
  });

test("drift is only reported when the class asks for that", async (t) => {
  const w = await startWorld(t, { sidecars: { volumeGroup: { driftMs: 60 } } });
  await w.store.patch(
    VolumeGroupClasses,
    { name: "groups" },
    { type: "merge", body: { driftPolicy: "Report" } },
  );
  await w.claim("data", { app: "db" });
  await w.claim("wal", { app: "db" });
  await makeGroup(w, "db", ["data", "wal"]);
  const modified = w.driver.called("ModifyVolumeGroupMembership");
  const stored = w.driver.volumeGroups.get("vg-1");
  stored.members = new Set(["vol-data", "vol-intruder"]);
  const reported = await w.group(
    "db",
    ({ status }) => status?.conditions?.some(({ reason }) => reason === "MembershipDrift") === true,
  );
  assert.deepEqual(membersOf(reported), ["data: Joined Joined", "wal: Drifted TakenOut"]);
  const synced = reported.status?.conditions?.find(({ type }) => type === "MembersSynced");
  assert.deepEqual(
    [synced?.status, synced?.reason],
    ["False", "MembershipDrift"],
    "nothing is being changed",
  );
  await w.claim("new", { app: "db" });
  await w.until("a change of ours still is made", () => stored.members.has("vol-new"));
  assert.deepEqual(w.stored("vg-1"), ["vol-data", "vol-intruder", "vol-new"]);
  assert.equal(w.driver.called("ModifyVolumeGroupMembership"), modified + 1);
});

test("a group that was brought in and is not found is read, less and less often, and not changed before it is back", async (t) => {
  covers("GRP-055", "GRP-064");
  const retry = { startMs: 25, maxMs: 60_000, infeasibleMs: 60_000 };
  const w = await startWorld(t, { sidecars: { retry } });
  existing(w);
  await w.claim("data", { app: "db" });
  await bringIn(w, { selector: { matchLabels: { app: "db" } } });
  await w.group("db", joined("data"));
  const stored = w.driver.volumeGroups.get("vg-1");
  w.driver.volumeGroups.groups.clear();
  const before = w.driver.calls.length;
  const reads = timesOf(w, "ControllerGetVolumeGroup");
  await w.claim("wal", { app: "db" });
  await w.until("four reads", () => reads.length >= 4);
  const asked = w.driver.calls.slice(before).map(({ method }) => method);
  assert.deepEqual(asked.slice(0, 2), ["ModifyVolumeGroupMembership", "ControllerGetVolumeGroup"]);
  assert.deepEqual([...new Set(asked.slice(1))], ["ControllerGetVolumeGroup"]);
  assertGrowing(reads, retry.startMs);
  const lost = await w.group("db", isTrue("Degraded"));
  const degraded = lost.status?.conditions?.find(({ type }) => type === "Degraded");
  assert.equal(degraded?.reason, "GroupMissing");
  w.driver.volumeGroups.groups.set("vg-1", stored);
  await w.group("db", joined("data", "wal"));
});

test("groups that come twice in a list, or are missed by it, cost no group and no member", async (t) => {
  covers("GRP-067");
  const w = await startWorld(t, {
    driver: { volumeGroups: ["modify", "list"] },
    sidecars: { volumeGroup: { driftMs: 20 } },
  });
  w.driver.pageSize = 1;
  await w.claim("data", { app: "db" });
  await makeGroup(w, "first", []);
  await makeGroup(w, "db", ["data"]);
  const { groups } = w.driver.volumeGroups;
  let pages = 0;
  w.driver.faults.add({
    method: "ListVolumeGroups",
    times: Number.POSITIVE_INFINITY,
    when: (request) => {
      if ((request as { startingToken: string }).startingToken === "") return false;
      // The one that has just been returned goes to the end: the next page has it again, and the other one never comes.
      const [reported] = groups;
      if (reported !== undefined && groups.delete(reported[0])) groups.set(...reported);
      pages += 1;
      return false;
    },
  });
  const modified = w.driver.called("ModifyVolumeGroupMembership");
  await w.until("many lists", () => pages >= 12);
  await w.group("db", joined("data"));
  await w.group("first", joined());
  assert.deepEqual([...groups.keys()].sort(), ["vg-1", "vg-2"], "no group was made anew");
  const warned = (await w.store.list(Events)).items.filter(({ type }) => type === "Warning");
  assert.deepEqual(
    warned.map(({ message, reason }) => `${reason}: ${message}`),
    [],
  );
  assert.equal(w.driver.called("ModifyVolumeGroupMembership"), modified);
  assert.equal(w.driver.called("DeleteVolumeGroup"), 0);
});

test("a group that is gone on the storage system is made again, with its members", async (t) => {
  const w = await startWorld(t);
  await w.claim("data", { app: "db" });
  await makeGroup(w, "db", ["data"]);
  w.driver.volumeGroups.groups.clear();
  await w.claim("wal", { app: "db" });
  await w.group("db", joined("data", "wal"));
  const [again] = [...w.driver.volumeGroups.groups.values()];
  assert.deepEqual([...(again?.members ?? [])].sort(), ["vol-data", "vol-wal"]);
});

test("a list whose token has expired begins anew; groups that come twice count once", async (t) => {
  covers("GRP-076");
  const w = await startWorld(t, { driver: { volumeGroups: ["modify", "list"] } });
  w.driver.pageSize = 1;
  existing(w, "vol-data");
  w.driver.volumeGroups.groups.set("vg-2", { id: "vg-2", name: "x", parameters: "[]", members: new Set() });
  const second = (request: object) => (request as { startingToken: string }).startingToken !== "";
  w.driver.faults.add({ method: "ListVolumeGroups", code: Code.ABORTED, when: second });
  await w.claim("data");
  await bringIn(w);
  await w.group("db", joined("data"));
  const tokens = w.driver.calls.flatMap(({ method, request }) =>
    method === "ListVolumeGroups" ? [(request as { startingToken: string }).startingToken] : [],
  );
  assert.deepEqual(tokens.slice(0, 4), ["", "1", "", "1"]);
  for (const { method, request } of w.driver.calls)
    if (method === "ListVolumeGroups") assert.ok((request as { maxEntries: number }).maxEntries >= 0);
});
