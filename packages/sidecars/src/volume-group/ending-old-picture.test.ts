import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Code } from "@mooring/csi";
import {
  type KubeObject,
  type ObjectStore,
  PersistentVolumeClaims,
  type Resource,
  type WatchOptions,
} from "@mooring/store";
import { VolumeGroupClasses, VolumeGroups } from "../kube/volume-group.ts";
import { startSidecars } from "../start.ts";
import type { VolumeGroupMethod } from "../testing/volume-groups.ts";
import { volumeGroupClass } from "./testing/objects.ts";
import { at, makeGroup, startWorld, type World } from "./testing/world.ts";

const gone = (w: World, name: string) =>
  w.until(
    `${name} is gone`,
    async () => (await w.find(VolumeGroups, name, "default")) === undefined,
    () => w.find(VolumeGroups, name, "default"),
  );
const deletesMembers = async (w: World) => {
  await w.store.delete(VolumeGroupClasses, { name: "groups" });
  await w.store.create(VolumeGroupClasses, volumeGroupClass({ deleteMembers: "true" }));
};

test("deleteMembers spares a claim that was taken out of the group just before the group was deleted", async (t) => {
  const w = await startWorld(t);
  await deletesMembers(w);
  await w.claim("data", { app: "db" });
  await w.claim("saved", { app: "db" });
  await makeGroup(w, "db", ["data", "saved"]);
  await w.stop();
  await w.label("saved", { app: null });
  await w.store.delete(VolumeGroups, at("db"));
  await w.restart();
  await gone(w, "db");
  assert.deepEqual([...w.driver.volumeGroups.deletedVolumes], ["vol-data"]);
  const { metadata } = await w.store.get(PersistentVolumeClaims, at("saved"));
  assert.deepEqual([metadata.deletionTimestamp, metadata.finalizers ?? []], [undefined, []]);
});

for (const volumeGroups of [["modify", "get"], ["modify"]] satisfies VolumeGroupMethod[][])
  test(`a volume that the storage side has added meanwhile is not deleted with its group (driver with ${volumeGroups})`, async (t) => {
    const w = await startWorld(t, { driver: { volumeGroups } });
    await deletesMembers(w);
    await w.claim("data", { app: "db" });
    await makeGroup(w, "db", ["data"]);
    w.driver.volumeGroups.get("vg-1").members.add("vol-theirs");
    await w.store.delete(VolumeGroups, at("db"));
    await gone(w, "db");
    assert.deepEqual([...w.driver.volumeGroups.deletedVolumes], ["vol-data"]);
  });

/** A way to the store on which, once held, nothing new is heard of volume groups; `asked` counts those that are read. */
function lateFor(store: ObjectStore) {
  const late = { asked: 0, held: false, way: store };
  async function* watch<T extends KubeObject>(resource: Resource<T>, options: WatchOptions) {
    for await (const event of store.watch(resource, options)) {
      if (late.held && (resource as Resource) === VolumeGroups) await once(options.signal, "abort");
      yield event;
    }
  }
  const get: ObjectStore["get"] = (resource, ...more) => {
    if ((resource as Resource) === VolumeGroups) late.asked += 1;
    return store.get(resource, ...more);
  };
  late.way = new Proxy(store, {
    get: (target, name) => {
      if (name === "watch") return watch;
      if (name === "get") return get;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return late;
}

test("an operator that hears late of a group's end does not fill the group again that another one empties", async (t) => {
  const w = await startWorld(t);
  const late = lateFor(w.store);
  const retry = { startMs: 5, maxMs: 40, infeasibleMs: 60 };
  const { endpoint } = w.driver;
  await startSidecars({ store: late.way, endpoint, controllers: ["volume-group"], retry, signal: w.signal });
  await w.claim("data", { app: "db" });
  await makeGroup(w, "db", ["data"]);
  const method = "DeleteVolumeGroup";
  w.driver.faults.add({ method, code: Code.UNAVAILABLE, times: Number.POSITIVE_INFINITY });
  late.held = true;
  late.asked = 0;
  await w.store.delete(VolumeGroups, at("db"));
  await w.until("the first one empties the group", () => w.driver.called(method) > 0);
  await w.until("the late one asks, or fills it", () => late.asked > 0 || w.stored("vg-1").length > 0);
  assert.deepEqual(w.stored("vg-1"), []);
  w.driver.faults.clear();
  await gone(w, "db");
  assert.deepEqual([...w.driver.volumeGroups.deletedVolumes], []);
});

test("a group that the driver's list misses ends on the storage system all the same, and so does one that is gone", async (t) => {
  const w = await startWorld(t, { driver: { volumeGroups: ["modify", "list"] } });
  await w.claim("data", { app: "db" });
  await w.claim("other", { app: "lost" });
  await makeGroup(w, "db", ["data"]);
  await makeGroup(w, "lost", ["other"]);
  const { groups } = w.driver.volumeGroups;
  await w.stop();
  groups.delete("vg-2");
  groups.values = () => new Map().values();
  for (const name of ["db", "lost"]) await w.store.delete(VolumeGroups, at(name));
  await w.restart();
  for (const name of ["db", "lost"]) await gone(w, name);
  assert.equal(groups.size, 0);
  for (const name of ["data", "other"]) {
    const { metadata } = await w.store.get(PersistentVolumeClaims, at(name));
    assert.deepEqual(metadata.finalizers ?? [], []);
  }
});

test("while the driver cannot be asked a group rests between two calls", async (t) => {
  let reads = 0;
  const now = () => {
    reads += 1;
    return Date.now();
  };
  const retry = { startMs: 300, maxMs: 300, infeasibleMs: 300 };
  const w = await startWorld(t, { sidecars: { now, retry } });
  await makeGroup(w, "db", []);
  await w.stop();
  const method = "ControllerGetVolumeGroup";
  w.driver.faults.add({ method, code: Code.UNAVAILABLE, times: Number.POSITIVE_INFINITY });
  const asked = w.driver.called(method);
  await w.restart();
  await w.until("it asks", () => w.driver.called(method) >= asked + 2);
  reads = 0;
  await w.until("it asks again", () => w.driver.called(method) >= asked + 4);
  assert.ok(reads < 100, `the clock was read ${reads} times between four calls`);
});
