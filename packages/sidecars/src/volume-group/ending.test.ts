import assert from "node:assert/strict";
import { test } from "node:test";
import { Code } from "@mooring/csi";
import { PersistentVolumeClaims, PersistentVolumes, Secrets } from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { VolumeGroupClasses, VolumeGroupContents, VolumeGroups } from "../kube/volume-group.ts";
import { assertGrowing, timesOf } from "../testing/times.ts";
import { volumeGroupClass } from "./testing/objects.ts";
import { at, makeGroup, startWorld, type World } from "./testing/world.ts";

const gone = (w: World, name = "db") =>
  w.until(
    `${name} is gone`,
    async () => (await w.find(VolumeGroups, name, "default")) === undefined,
    () => w.find(VolumeGroups, name, "default"),
  );
const withClass = async (w: World, changes: Parameters<typeof volumeGroupClass>[0]) => {
  await w.store.delete(VolumeGroupClasses, { name: "groups" });
  await w.store.create(VolumeGroupClasses, volumeGroupClass(changes));
};
const isFree = async (w: World, name: string) => {
  const { metadata } = await w.store.get(PersistentVolumeClaims, at(name));
  assert.deepEqual(metadata.finalizers ?? [], []);
};

test("with Retain the group stays as it is with its content, claims are free, and the content can go later", async (t) => {
  const w = await startWorld(t);
  await withClass(w, { deletionPolicy: "Retain" });
  await w.claim("data", { app: "db" });
  await makeGroup(w, "db", ["data"]);
  await w.store.delete(VolumeGroups, at("db"));
  await gone(w);
  await isFree(w, "data");
  assert.deepEqual(w.stored("vg-1"), ["vol-data"]);
  const [content] = (await w.store.list(VolumeGroupContents)).items;
  assert.equal(content?.status?.volumeGroupHandle, "vg-1");
  await w.store.delete(VolumeGroupContents, { name: content?.metadata.name ?? "" });
  await w.until("the content goes", async () => (await w.store.list(VolumeGroupContents)).items.length === 0);
  assert.deepEqual(w.stored("vg-1"), ["vol-data"]);
});

test("deleteMembers deletes claims and volumes with the group, but not a volume that is to be retained", async (t) => {
  const w = await startWorld(t);
  await withClass(w, { deleteMembers: "true" });
  await w.claim("data", { app: "db" });
  const kept = await w.claim("kept", { app: "db" });
  const body = { spec: { persistentVolumeReclaimPolicy: "Retain" } };
  await w.store.patch(PersistentVolumes, { name: kept.spec?.volumeName ?? "" }, { type: "merge", body });
  await makeGroup(w, "db", ["data", "kept"]);
  // Somebody uses it.
  const use = (finalizers: string[]) =>
    w.store.patch(PersistentVolumeClaims, at("data"), { type: "merge", body: { metadata: { finalizers } } });
  await use(["storage.mooring.dev/volume-group-member", "kubernetes.io/pvc-protection"]);
  await w.store.delete(VolumeGroups, at("db"));
  await w.group(
    "db",
    ({ status }) =>
      status?.conditions?.some(({ message }) => /claim data is no longer in use/.test(message)) === true,
  );
  assert.equal(w.driver.called("DeleteVolumeGroup"), 0, "nothing is deleted under its user");
  await use(["storage.mooring.dev/volume-group-member"]);
  await gone(w);
  assert.deepEqual([...w.driver.volumeGroups.deletedVolumes], ["vol-data"]);
  assert.equal(await w.find(PersistentVolumeClaims, "data", "default"), undefined);
  await isFree(w, "kept");
});

test("a group ends also when its class and its secret are gone", async (t) => {
  const w = await startWorld(t);
  const parameters = {
    "csi.storage.k8s.io/volume-group-secret-name": "array",
    "csi.storage.k8s.io/volume-group-secret-namespace": "default",
    tier: "gold",
  };
  await withClass(w, { parameters });
  const data = { password: Buffer.from("hunter2").toString("base64") };
  await w.store.create(Secrets, { apiVersion: "v1", kind: "Secret", metadata: at("array"), data });
  await w.claim("data", { app: "db" });
  await makeGroup(w, "db", ["data"]);
  const [create] = w.driver.calls.filter(({ method }) => method === "CreateVolumeGroup");
  const { parameters: given, secrets } = (create?.request ?? {}) as { parameters: object; secrets: object };
  assert.deepEqual([{ ...given }, { ...secrets }], [{ tier: "gold" }, { password: "hunter2" }]);
  await w.store.delete(VolumeGroupClasses, { name: "groups" });
  await w.store.delete(Secrets, at("array"));
  await w.store.delete(VolumeGroups, at("db"));
  await gone(w);
  assert.equal(w.driver.volumeGroups.groups.size, 0);
  await isFree(w, "data");
});

test("a group whose content was torn out gets it again; and ends without it when its class is gone too", async (t) => {
  const w = await startWorld(t);
  await w.claim("data", { app: "db" });
  const group = await makeGroup(w, "db", ["data"]);
  const name = group.status?.boundVolumeGroupContentName ?? "";
  const tear = async () => {
    await w.store.patch(
      VolumeGroupContents,
      { name },
      { type: "merge", body: { metadata: { finalizers: [] } } },
    );
    await w.store.delete(VolumeGroupContents, { name });
  };
  await tear();
  await w.until(
    "the content is back",
    async () => (await w.find(VolumeGroupContents, name))?.status?.volumeHandles?.join() === "vol-data",
  );
  assert.equal(w.driver.volumeGroups.groups.size, 1, "the same group");
  await w.store.delete(VolumeGroupClasses, { name: "groups" });
  await tear();
  await w.group(
    "db",
    ({ status }) => status?.conditions?.some(({ reason }) => reason === "ClassMissing") === true,
  );
  await w.store.delete(VolumeGroups, at("db"));
  await gone(w);
  await isFree(w, "data");
});

test("a group that is in use is asked for again, less and less often, and goes when it is free", async (t) => {
  covers("GRP-038");
  const retry = { startMs: 25, maxMs: 60_000, infeasibleMs: 60_000 };
  const w = await startWorld(t, { sidecars: { retry } });
  await makeGroup(w, "db", []);
  const times = timesOf(w, "DeleteVolumeGroup");
  w.driver.faults.add({
    method: "DeleteVolumeGroup",
    code: Code.FAILED_PRECONDITION,
    message: "it has snapshots",
    times: 4,
  });
  await w.store.delete(VolumeGroups, at("db"));
  await w.group(
    "db",
    ({ status }) => status?.conditions?.some(({ message }) => message === "it has snapshots") === true,
  );
  await gone(w);
  assert.equal(w.driver.called("DeleteVolumeGroup"), 5);
  assertGrowing(times, retry.startMs);
});

test("a response to the creation that nobody received leaves nothing behind", async (t) => {
  const w = await startWorld(t);
  w.driver.faults.add({ method: "CreateVolumeGroup", code: Code.DEADLINE_EXCEEDED, effect: true, times: 3 });
  await w.store.create(VolumeGroups, {
    apiVersion: "storage.mooring.dev/v1alpha1",
    kind: "VolumeGroup",
    metadata: at("db"),
    spec: { volumeGroupClassName: "groups", source: {} },
  });
  await w.until("it is made", () => w.driver.volumeGroups.groups.size === 1);
  await w.store.delete(VolumeGroups, at("db"));
  await gone(w);
  assert.equal(w.driver.volumeGroups.groups.size, 0);
});
