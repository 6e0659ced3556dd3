import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { v1 } from "@mooring/csi";
import {
  PersistentVolumeClaims,
  type Resource,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { type VolumeGroupClone, VolumeGroupClones } from "../kube/group-clone.ts";
import { VolumeGroupRestores } from "../kube/group-restore.ts";
import { VolumeGroupClasses, VolumeGroups } from "../kube/volume-group.ts";
import { fresh, groupWorld, NS } from "../testing/group-world.ts";
import { volumeGroup, volumeGroupClass } from "../volume-group/testing/objects.ts";
import { at, joined } from "../volume-group/testing/world.ts";
import { groupClone } from "./testing/objects.ts";

const CREATE_SNAPSHOT = "CreateVolumeGroupSnapshot";

/** Two claims, which are in VolumeGroup `db` once that is made. */
async function start(t: TestContext) {
  const w = await groupWorld(t, {
    driver: {
      can: ["CREATE_DELETE_VOLUME", "CREATE_DELETE_SNAPSHOT"],
      groups: true,
      volumeGroups: ["modify", "get", "list"],
    },
  });
  const { store } = w.h;
  await store.create(VolumeGroupClasses, volumeGroupClass());
  await w.claims("a", "b");
  const clone = () => w.h.find(VolumeGroupClones, "copy", NS);
  const reported = (accept: (status: NonNullable<VolumeGroupClone["status"]>) => boolean) =>
    w.h.until(
      "the clone",
      async () => {
        const status = (await clone())?.status;
        return status !== undefined && accept(status) && status;
      },
      async () => [await clone(), await w.group(), (await store.list(VolumeGroupRestores)).items],
    );
  return {
    ...w,
    reported,
    makeDb: async (spec = {}) => void (await store.create(VolumeGroups, fresh(volumeGroup("db", spec)))),
    isReady: () => reported(({ phase }) => phase === "Ready"),
    deleteClone: async () => {
      await store.delete(VolumeGroupClones, at("copy"));
      await w.h.until("the clone is gone", async () => (await clone()) === undefined, clone);
    },
    /** Of the internal group snapshot and restore, in the store and on the storage system. */
    left: async () => {
      const kinds: Resource[] = [
        ...[VolumeGroupRestores, VolumeGroupSnapshots, VolumeGroupSnapshotContents],
        ...[VolumeSnapshots, VolumeSnapshotContents],
      ];
      const lists = await Promise.all(kinds.map((kind) => store.list(kind)));
      const { groups, snapshots } = w.h.driver.backend;
      const names = lists.flatMap(({ items }) =>
        items.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
      );
      return [...names, ...groups.keys(), ...snapshots.keys()];
    },
  };
}

test("a clone has copies of all members from one group snapshot, in a group of its own, and the snapshot is gone at the end", async (t) => {
  const w = await start(t);
  await w.makeDb();
  await w.h.store.create(VolumeGroupClones, groupClone());
  const status = await w.isReady();
  assert.equal(status.volumeGroupName, "copy");
  assert.deepEqual(status.claims, { total: 2, bound: 2 });
  const group = await w.h.store.get(VolumeGroups, at("copy"));
  assert.ok(joined("a-copy", "b-copy")(group), JSON.stringify(group.status));
  assert.equal(group.spec.volumeGroupClassName, "groups", "the class of the group that is cloned");
  assert.equal(w.requests(CREATE_SNAPSHOT).length, 1, "one group snapshot");
  const [deleted] = w.requests<v1.DeleteVolumeGroupSnapshotRequest>("DeleteVolumeGroupSnapshot");
  const sources = w.requests<v1.CreateVolumeRequest>("CreateVolume").flatMap(({ volumeContentSource }) => {
    const from = volumeContentSource?.type;
    return from?.case === "snapshot" ? [from.value.snapshotId] : [];
  });
  assert.equal(sources.length, 2);
  assert.deepEqual([...new Set(sources)].sort(), [...(deleted?.snapshotIds ?? [])].sort());
  assert.deepEqual(await w.left(), []);
  await w.deleteClone();
  assert.ok(
    joined("a-copy", "b-copy")(await w.h.store.get(VolumeGroups, at("copy"))),
    "the group outlives it",
  );
});

test("a group that is missing or not ready is reported with the reason, and the clone goes on when it is ready", async (t) => {
  const w = await start(t);
  await w.h.store.create(VolumeGroupClones, groupClone());
  await w.reported(
    ({ message, phase }) => phase === "Waiting" && message === "VolumeGroup db does not exist",
  );
  await w.makeDb({ volumeGroupClassName: "later" });
  const { message } = await w.reported((status) => /db is not ready: .*later/.test(status.message));
  assert.equal((await w.h.store.get(VolumeGroupClones, at("copy"))).metadata.finalizers, undefined, message);
  await w.h.store.create(VolumeGroupClasses, volumeGroupClass({ metadata: { name: "later" } }));
  await w.isReady();
});

test("a name that is taken is reported, and nothing of the clone is left when it is deleted", async (t) => {
  const w = await start(t);
  await w.makeDb();
  await w.h.store.create(VolumeGroups, fresh(volumeGroup("copy")));
  await w.h.store.create(VolumeGroupClones, groupClone());
  const { message } = await w.reported(({ phase }) => phase === "Failed");
  assert.match(message, /VolumeGroup copy exists and is not of this restore/);
  assert.equal(await w.h.find(PersistentVolumeClaims, "a-copy", NS), undefined);
  await w.deleteClone();
  assert.deepEqual(await w.left(), []);
  assert.notEqual(await w.h.find(VolumeGroups, "copy", NS), undefined, "which is not of the clone");
});

test("a clone that is deleted while the snapshot of its members is made leaves nothing", async (t) => {
  const w = await start(t);
  await w.makeDb();
  let respond = () => {};
  w.h.driver.faults.add({
    method: CREATE_SNAPSHOT,
    until: new Promise<void>((resolve) => (respond = resolve)),
  });
  await w.h.store.create(VolumeGroupClones, groupClone());
  await w.h.until("the call runs", () => w.requests(CREATE_SNAPSHOT).length === 1);
  const gone = w.deleteClone();
  await w.h.until("the deletion has begun", async () => {
    const clone = await w.h.find(VolumeGroupClones, "copy", NS);
    return clone === undefined || clone.metadata.deletionTimestamp !== undefined;
  });
  respond();
  await gone;
  assert.deepEqual(await w.left(), []);
  assert.equal((await w.h.store.list(PersistentVolumeClaims)).items.length, 2, "no claim was made");
  assert.equal(await w.h.find(VolumeGroups, "copy", NS), undefined);
});
