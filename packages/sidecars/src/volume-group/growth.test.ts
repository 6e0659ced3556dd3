import assert from "node:assert/strict";
import { test } from "node:test";
import { Events, PersistentVolumeClaims, StorageClasses } from "@mooring/store";
import { VolumeGroups } from "../kube/volume-group.ts";
import { at, isTrue, makeGroup, startWorld, type World } from "./testing/world.ts";

const requestOf = async (w: World, name: string) =>
  (await w.store.get(PersistentVolumeClaims, at(name))).spec?.resources?.requests?.storage;
const allow = (w: World, allowVolumeExpansion: boolean) =>
  w.store.patch(StorageClasses, { name: "fast" }, { type: "merge", body: { allowVolumeExpansion } });
const ask = (w: World, memberSize: string) =>
  w.store.patch(VolumeGroups, at("db"), { type: "merge", body: { spec: { memberSize } } });
const has = (w: World, name: string, storage: string) =>
  w.store.patch(
    PersistentVolumeClaims,
    at(name),
    { type: "merge", body: { status: { capacity: { storage } } } },
    { subresource: "status" },
  );
const reported = async (w: World, reason: string) =>
  (await w.store.list(Events)).items.filter((event) => event.reason === reason).length;

test("one patch of the group grows every member, never shrinks one, and reports how far it is", async (t) => {
  const w = await startWorld(t);
  await allow(w, true);
  for (const name of ["data", "wal"]) await w.claim(name, { app: "db" });
  const large = await w.claim("large", { app: "db" });
  await w.store.patch(PersistentVolumeClaims, at(large.metadata.name), {
    type: "merge",
    body: { spec: { resources: { requests: { storage: "50Gi" } } } },
  });
  await has(w, "large", "50Gi");
  await makeGroup(w, "db", ["data", "large", "wal"]);
  await ask(w, "20Gi");
  await w.until(
    "both ask for it",
    async () => (await requestOf(w, "data")) === "20Gi" && (await requestOf(w, "wal")) === "20Gi",
  );
  assert.equal(await requestOf(w, "large"), "50Gi");
  await has(w, "data", "20Gi");
  const half = await w.group("db", ({ status }) => status?.growth?.grown === 2);
  assert.deepEqual(half.status?.growth, {
    ...{ size: "20Gi", grown: 2, total: 3 },
    waiting: [{ claimName: "wal", reason: "Growing", message: "the claim grows to 20Gi" }],
  });
  assert.equal(isTrue("VolumesExpanded")(half), false);
  const pending = { type: "FileSystemResizePending", status: "True" };
  await w.store.patch(
    PersistentVolumeClaims,
    at("wal"),
    { type: "merge", body: { status: { conditions: [pending] } } },
    { subresource: "status" },
  );
  const volumes = await w.group("db", isTrue("VolumesExpanded"));
  assert.deepEqual(
    volumes.status?.conditions?.flatMap(({ reason, status, type }) =>
      type === "Expanded" ? [status, reason] : [],
    ),
    ["False", "NodePending"],
    "no Pod uses it: the volumes are ready all the same",
  );
  await has(w, "wal", "20Gi");
  await w.group("db", isTrue("Expanded"));
  await w.until("it is reported", async () => (await reported(w, "MembersExpanded")) === 1);
  await ask(w, "1Gi");
  await w.group("db", ({ status }) => status?.growth?.size === "1Gi" && status.growth.grown === 3);
  assert.equal(await requestOf(w, "wal"), "20Gi", "nothing shrinks");
});

test("a class that forbids it is the reason, reported once, and it goes on when the class allows it", async (t) => {
  const w = await startWorld(t);
  await allow(w, false);
  await w.claim("data", { app: "db" });
  await makeGroup(w, "db", ["data"]);
  await ask(w, "20Gi");
  const refused = await w.group("db", ({ status }) =>
    Boolean(status?.conditions?.some(({ reason }) => reason === "GrowthRefused")),
  );
  assert.match(refused.status?.growth?.waiting[0]?.message ?? "", /StorageClass fast does not allow/);
  assert.notEqual(await requestOf(w, "data"), "20Gi");
  await w.until("it is reported", async () => (await reported(w, "GrowthRefused")) === 1);
  await allow(w, true);
  await w.until("it asks", async () => (await requestOf(w, "data")) === "20Gi");
});
