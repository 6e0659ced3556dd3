import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolumeClaims } from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { VolumeGroupContents, VolumeGroups } from "../kube/volume-group.ts";
import { at, joined, makeGroup, startWorld } from "./testing/world.ts";

test("a group is made empty, its claims join it, come and go with their labels, and all of it ends", async (t) => {
  covers("GRP-008");
  const w = await startWorld(t);
  await w.claim("data", { app: "db" });
  await w.claim("other");
  const group = await makeGroup(w, "db", ["data"]);
  const [stored] = [...w.driver.volumeGroups.groups.values()];
  assert.equal(stored?.name, `volumegroup-${group.metadata.uid}`);
  assert.deepEqual([...(stored?.members ?? [])], ["vol-data"]);
  assert.equal(group.status?.memberCount, 1);
  await w.claim("wal", { app: "db" });
  await w.group("db", joined("data", "wal"));
  await w.label("data", { app: null });
  await w.group("db", joined("wal"));
  assert.deepEqual(w.stored("vg-1"), ["vol-wal"]);
  const data = await w.store.get(PersistentVolumeClaims, at("data"));
  assert.deepEqual(data.metadata.finalizers ?? [], [], "what is no member is not protected");
  await w.store.delete(VolumeGroups, at("db"));
  await w.until("the end", async () => (await w.store.list(VolumeGroups)).items.length === 0);
  assert.equal((await w.store.list(VolumeGroupContents)).items.length, 0);
  assert.equal(w.driver.volumeGroups.groups.size, 0);
  assert.deepEqual([...w.driver.volumeGroups.deletedVolumes], [], "the volumes stay");
  const wal = await w.store.get(PersistentVolumeClaims, at("wal"));
  assert.deepEqual(
    [wal.metadata.finalizers ?? [], wal.metadata.annotations?.["storage.mooring.dev/volume-group-member"]],
    [[], undefined],
  );
});
