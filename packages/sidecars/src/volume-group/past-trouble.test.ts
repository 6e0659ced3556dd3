import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, CsiError } from "@mooring/csi";
import { covers } from "@mooring/store/testing";
import { type VolumeGroup, VolumeGroups } from "../kube/volume-group.ts";
import { volumeGroup } from "./testing/objects.ts";
import { isTrue, joined, makeGroup, startWorld } from "./testing/world.ts";

test("a set that was refused is not asked for again when a part of it was taken", async (t) => {
  covers("GRP-053");
  const w = await startWorld(t);
  const refusal = CsiError.invalidArgument("vol-d cannot be in a group with the others");
  w.driver.volumeGroups.refused.set("vol-d", refusal);
  for (const name of ["a", "b", "c", "d"]) await w.claim(name, { app: "db" });
  await makeGroup(w, "db", ["a", "b", "c"]);
  const sets = w.driver.calls
    .filter(({ method }) => method === "ModifyVolumeGroupMembership")
    .map(({ request }) => [...(request as { volumeIds: string[] }).volumeIds].sort().join());
  assert.equal(new Set(sets).size, sets.length, sets.join(" / "));
});

test("a call that failed for a claim which has left since is no trouble any more", async (t) => {
  const w = await startWorld(t);
  await w.claim("data", { app: "db" });
  await makeGroup(w, "db", ["data"]);
  const method = "ModifyVolumeGroupMembership";
  w.driver.faults.add({ method, code: Code.UNAVAILABLE, times: Number.POSITIVE_INFINITY });
  await w.claim("late", { app: "db" });
  await w.group("db", isTrue("Degraded"));
  await w.label("late", { app: null });
  await w.group("db", (group) => joined("data")(group) && !isTrue("Degraded")(group));
});

test("what a call failed with is gone as soon as that call has succeeded, whichever it was", async (t) => {
  const w = await startWorld(t, { sidecars: { volumeGroup: { driftMs: 60 } } });
  await w.claim("data", { app: "db" });
  const { uid: _uid, ...metadata } = volumeGroup("db").metadata;
  const failing = (method: string) =>
    w.driver.faults.add({ method, code: Code.UNAVAILABLE, times: Number.POSITIVE_INFINITY, message: method });
  const conditionsHave = (message: string) => (group: VolumeGroup) =>
    isTrue("Degraded")(group) && JSON.stringify(group.status?.conditions).includes(message);
  const isWell = (group: VolumeGroup) => joined("data")(group) && !isTrue("Degraded")(group);
  failing("CreateVolumeGroup");
  await w.store.create(VolumeGroups, { ...volumeGroup("db"), metadata });
  await w.group("db", conditionsHave("CreateVolumeGroup"));
  w.driver.faults.clear();
  await w.group("db", isWell);
  failing("ControllerGetVolumeGroup");
  await w.group("db", conditionsHave("ControllerGetVolumeGroup"));
  w.driver.faults.clear();
  await w.group("db", isWell);
  failing("ModifyVolumeGroupMembership");
  await w.claim("late", { app: "db" });
  await w.group("db", conditionsHave("ModifyVolumeGroupMembership"));
  w.driver.faults.clear();
  await w.group("db", (group) => joined("data", "late")(group) && !isTrue("Degraded")(group));
});

test("a driver that can only change groups has its group settled, empty and after a restart", async (t) => {
  const w = await startWorld(t, { driver: { volumeGroups: ["modify"] } });
  await makeGroup(w, "empty", []);
  await w.claim("data", { app: "db" });
  await makeGroup(w, "db", ["data"]);
  await w.restart();
  await w.label("data", { touched: "1" });
  const group = await w.group("db", joined("data"));
  assert.equal(isTrue("Degraded")(group), false);
});
