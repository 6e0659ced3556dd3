import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { defined, PersistentVolumeClaims } from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { VolumeGroupRestores } from "../kube/group-restore.ts";
import { VolumeGroupClasses, VolumeGroups } from "../kube/volume-group.ts";
import { startHarness } from "../testing/harness.ts";
import { claim } from "../testing/objects.ts";
import { volumeGroup, volumeGroupClass } from "../volume-group/testing/objects.ts";
import { groupRestore, handleOf, put, putGroup } from "./testing/group.ts";

const into = { name: "copy", volumeGroupClassName: "groups" };

async function start(t: TestContext, volumeGroups: ["modify", "get", "list"] | undefined) {
  const h = await startHarness(t, {
    sidecars: { controllers: ["provision", "group-restore", "volume-group"] },
    driver: {
      can: ["CREATE_DELETE_VOLUME", "CREATE_DELETE_SNAPSHOT"],
      ...defined({ volumeGroups }),
    },
  });
  for (const name of ["data", "wal"]) {
    const snapshot = { id: handleOf(name), name, volumeId: name, bytes: 1024n ** 3n, pendingPolls: 0 };
    h.driver.backend.snapshots.set(snapshot.id, snapshot);
    await put(h.store, PersistentVolumeClaims, claim(name));
  }
  await put(h.store, VolumeGroupClasses, volumeGroupClass());
  await putGroup(h.store, ["data", "wal"]);
  const restored = (what: (message: string, phase: string) => boolean) =>
    h.until(
      "the restore",
      async () => {
        const { status } = await h.store.get(VolumeGroupRestores, { namespace: "default", name: "again" });
        return status !== undefined && what(status.message, status.phase) && status;
      },
      () => h.store.get(VolumeGroupRestores, { namespace: "default", name: "again" }),
    );
  return { h, restored };
}

test("restored claims are born into a new VolumeGroup, and the restore is ready when they are in it", async (t) => {
  covers("GRP-009");
  const { h, restored } = await start(t, ["modify", "get", "list"]);
  // It selects everything that is restored, and gets none of it.
  const greedy = volumeGroup("greedy", {
    source: { selector: { matchLabels: { "storage.mooring.dev/group-restore": "again" } } },
  });
  await put(h.store, VolumeGroups, greedy);
  await put(h.store, VolumeGroupRestores, groupRestore({ volumeGroup: into }));
  const status = await restored((_, phase) => phase === "Ready");
  assert.deepEqual(status.volumeGroup, { name: "copy", joined: 2 });
  const group = await h.store.get(VolumeGroups, { namespace: "default", name: "copy" });
  assert.deepEqual(group.spec, {
    volumeGroupClassName: "groups",
    source: { claimNames: ["data-again", "wal-again"] },
  });
  assert.deepEqual(group.metadata.ownerReferences ?? [], [], "it outlives the restore");
});

test("a group whose name is taken, or that the driver cannot have, is reported before anything is made", async (t) => {
  const { h, restored } = await start(t, ["modify", "get", "list"]);
  await put(h.store, VolumeGroups, volumeGroup("copy"));
  await put(h.store, VolumeGroupRestores, groupRestore({ volumeGroup: into }));
  const taken = await restored((_, phase) => phase === "Failed");
  assert.match(taken.message, /VolumeGroup copy exists and is not of this restore/);
  assert.equal(await h.find(PersistentVolumeClaims, "data-again", "default"), undefined);
  await h.store.delete(VolumeGroups, { namespace: "default", name: "copy" });
  await restored((_, phase) => phase === "Ready");
  const other = await start(t, undefined);
  await put(other.h.store, VolumeGroupRestores, groupRestore({ volumeGroup: into }));
  const unsupported = await other.restored((_, phase) => phase === "Failed");
  assert.match(unsupported.message, /has no volume groups whose members can change/);
});

test("a claim that its group leaves out keeps the restore from being ready, and is named", async (t) => {
  const { h, restored } = await start(t, ["modify", "get", "list"]);
  h.driver.volumeGroups.mostMembers = 1;
  await put(h.store, VolumeGroupRestores, groupRestore({ volumeGroup: into }));
  const status = await restored(
    (message, phase) => phase === "Complete" && /at most 1 volumes/.test(message),
  );
  assert.match(status.message, /2 of 2 claims are bound; 1 of 2 claims are in VolumeGroup copy/);
  h.driver.volumeGroups.mostMembers = 2;
  await restored((_, phase) => phase === "Ready");
});
