import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Code } from "@mooring/csi";
import {
  PersistentVolumeClaims,
  StatusError,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  type VolumeSnapshot,
} from "@mooring/store";
import { refusingStore } from "@mooring/store/testing";
import { type VolumeGroup, VolumeGroupClasses, VolumeGroups } from "../kube/volume-group.ts";
import type { SidecarOptions } from "../options.ts";
import { Calls } from "../testing/calls.ts";
import { fresh, type GroupWorld, groupWorld, NS } from "../testing/group-world.ts";
import type { HarnessOptions } from "../testing/harness.ts";
import { groupSnapshot } from "../testing/objects.ts";
import { volumeGroup, volumeGroupClass } from "../volume-group/testing/objects.ts";
import { joined, membersOf } from "../volume-group/testing/world.ts";

const CREATE = "CreateVolumeGroupSnapshot";
const at = (name: string) => ({ namespace: NS, name });

interface World extends GroupWorld {
  /** Waits until VolumeGroup `db` is as given. */
  db(accept: (group: VolumeGroup) => boolean): Promise<VolumeGroup>;
  /** Asks for a snapshot of VolumeGroup `db`. */
  snapshot(name?: string, spec?: object): Promise<void>;
  label(name: string, app: string | null): Promise<unknown>;
  /** Source claims of the members that have a snapshot. */
  snapshotOf(): Promise<string[]>;
}

/** Two claims in VolumeGroup `db`. */
async function start(t: TestContext, options: HarnessOptions = {}): Promise<World> {
  const w = await groupWorld(t, {
    ...options,
    driver: { groups: true, volumeGroups: ["modify", "get", "list"], ...options.driver },
  });
  const { h } = w;
  await h.store.create(VolumeGroupClasses, volumeGroupClass());
  await w.claims("a", "b");
  await h.store.create(VolumeGroups, fresh(volumeGroup("db")));
  const db = (accept: (group: VolumeGroup) => boolean) =>
    h.until(
      "VolumeGroup db",
      async () => {
        const found = await h.find(VolumeGroups, "db", NS);
        return found !== undefined && accept(found) && found;
      },
      async () => [await h.find(VolumeGroups, "db", NS), await w.group()],
    );
  await db(joined("a", "b"));
  const of = ({ spec }: VolumeSnapshot) => spec.source.persistentVolumeClaimName ?? "";
  return {
    ...w,
    db,
    snapshot: async (name = "group", spec = {}) => {
      const made = fresh(
        groupSnapshot(name, { source: { selector: {} }, volumeGroupSnapshotClassName: "groups", ...spec }),
      );
      const annotations = { "storage.mooring.dev/volume-group": "db" };
      await h.store.create(VolumeGroupSnapshots, { ...made, metadata: { ...made.metadata, annotations } });
    },
    label: (name, app) =>
      h.store.patch(PersistentVolumeClaims, at(name), {
        type: "merge",
        body: { metadata: { labels: { app } } },
      }),
    snapshotOf: async () => (await w.members()).map(of).sort(),
  };
}

test("a group snapshot of a VolumeGroup copies its members, and nobody joins, leaves or ends the group until it is made", async (t) => {
  const w = await start(t);
  const { driver, store } = w.h;
  await w.claims("other");
  await w.label("other", null);
  await w.db(joined("a", "b"));
  let respond = () => {};
  driver.faults.add({ method: CREATE, until: new Promise<void>((resolve) => (respond = resolve)) });
  await w.snapshot();
  await w.h.until("the call runs", () => w.requests(CREATE).length === 1);
  assert.deepEqual(
    (await w.db(() => true)).status?.frozenFor?.map(({ name }) => name),
    ["group"],
  );
  const before = driver.calls.length;
  await w.label("other", "db");
  await w.label("b", null);
  const members = ["a: Joined Joined", "b: Leaving NotSelected", "other: Joining Joining"];
  const frozen = await w.db((group) => membersOf(group).join() === members.join());
  const synced = frozen.status?.conditions?.find(({ type }) => type === "MembersSynced");
  assert.deepEqual([synced?.status, synced?.reason], ["False", "Frozen"]);
  await store.delete(VolumeGroups, at("db"));
  const ending = await w.db(({ status }) => status?.ready === false);
  const message = ending.status?.conditions?.find(({ type }) => type === "Ready")?.message ?? "";
  assert.match(message, /is being deleted: .* until VolumeGroupSnapshot group is made/);
  const changes = driver.calls
    .slice(before)
    .filter(({ method }) => /Membership|DeleteVolumeGroup$/.test(method));
  assert.deepEqual(changes, [], "nothing is changed on the storage system");
  respond();
  await w.ready();
  assert.deepEqual(await w.snapshotOf(), ["a", "b"]);
  await w.h.until("the group ends", async () => (await w.h.find(VolumeGroups, "db", NS)) === undefined);
});

test("a freeze ends with a group snapshot that fails, and with a group snapshot that is deleted", async (t) => {
  const w = await start(t);
  const { driver } = w.h;
  const failing = { method: CREATE, code: Code.UNAVAILABLE, message: "array offline" };
  driver.faults.add({ ...failing, times: Number.POSITIVE_INFINITY });
  await w.snapshot();
  await w.error(/array offline/);
  await w.label("b", null);
  await w.db(joined("a"));
  driver.faults.clear();
  await w.ready();
  assert.deepEqual(
    await w.snapshotOf(),
    ["a", "b"],
    "the members are those of the time at which it was begun",
  );
  await w.remove();
  await w.gone();

  let respond = () => {};
  driver.faults.add({ method: CREATE, until: new Promise<void>((resolve) => (respond = resolve)) });
  const before = w.requests(CREATE).length;
  await w.snapshot();
  await w.h.until("the call runs", () => w.requests(CREATE).length > before);
  await w.label("b", "db");
  await w.remove();
  await w.db(({ status }) => status?.frozenFor === undefined);
  respond();
  await w.db(joined("a", "b"));
  await w.gone();
});

test("a driver that lets the call for a snapshot hang keeps the group frozen until the call is given up, and no longer", async (t) => {
  const w = await start(t, { sidecars: { timeoutMs: 1_000 } });
  let respond = () => {};
  w.h.driver.faults.add({ method: CREATE, until: new Promise<void>((resolve) => (respond = resolve)) });
  await w.snapshot();
  await w.h.until("the call runs", () => w.requests(CREATE).length === 1);
  await w.db(({ status }) => status?.frozenFor?.[0]?.name === "group");
  await w.error(/did not respond to CreateVolumeGroupSnapshot within 1000 ms/);
  await w.db(({ status }) => status?.frozenFor === undefined);
  await w.label("b", null);
  respond();
  await w.db(joined("a"));
  await w.ready();
  assert.deepEqual(
    await w.snapshotOf(),
    ["a", "b"],
    "the members are those of the time at which it was begun",
  );
});

test("a freeze ends with the driver's response, also one that has neither a creation time nor that it is ready", async (t) => {
  const w = await start(t, { driver: { snapshotPolls: Number.POSITIVE_INFINITY } });
  w.h.driver.changeGroup = ({ creationTime: _none, ...group }) => group;
  await w.snapshot();
  await w.h.until("it is made", async () => {
    const [content] = (await w.h.store.list(VolumeGroupSnapshotContents)).items;
    return content?.status?.volumeGroupSnapshotHandle;
  });
  await w.label("b", null);
  await w.db(joined("a"));
  const { status } = (await w.group()) ?? {};
  assert.deepEqual(
    [status?.readyToUse ?? false, status?.creationTime],
    [false, undefined],
    "it still is not ready",
  );
  await w.remove();
  await w.gone();
});

test("a freeze is over in time also where the content cannot be made; the snapshot asks again, and has the members of then", async (t) => {
  let isDown = true;
  const w = await start(t, {
    sidecars: { timeoutMs: 1_000 },
    serve: async (store) =>
      refusingStore(store, (method, args) =>
        isDown && method === "create" && JSON.stringify(args).includes("groupsnapcontent-")
          ? new StatusError("InternalError", "etcd is full")
          : undefined,
      ),
  });
  await w.snapshot();
  await w.db(({ status }) => status?.frozenFor?.[0]?.name === "group");
  await w.label("b", null);
  await w.db(joined("a"));
  isDown = false;
  await w.ready();
  assert.deepEqual(await w.snapshotOf(), ["a"]);
  await w.db(({ status }) => status?.frozenFor === undefined);
});

test("what speaks against it is reported, and it goes on when that is gone", async (t) => {
  const w = await start(t);
  const { store } = w.h;
  await w.snapshot("both", { source: { selector: { matchLabels: { app: "db" } } } });
  await w.error(
    /means that the members are those of VolumeGroup db: leave spec.source.selector empty/,
    "both",
  );
  await w.label("a", null);
  await w.label("b", null);
  await w.db(joined());
  await w.snapshot();
  await w.error(/VolumeGroup db has no members yet/);
  await w.label("a", "db");
  await w.ready();
  assert.deepEqual(await w.snapshotOf(), ["a"]);
  await store.delete(VolumeGroups, at("db"));
  await w.h.until("the group ends", async () => (await w.h.find(VolumeGroups, "db", NS)) === undefined);
  await w.snapshot("late");
  await w.error(/VolumeGroup db does not exist/, "late");
});

test("a claim that is deleted just when the group was frozen is reported, leaves, and the snapshot begins anew", async (t) => {
  const w = await start(t);
  const { store } = w.h;
  await store.patch(PersistentVolumeClaims, at("b"), {
    type: "merge",
    body: {
      metadata: {
        finalizers: [
          "test/kept",
          ...((await store.get(PersistentVolumeClaims, at("b"))).metadata.finalizers ?? []),
        ],
      },
    },
  });
  const modify = { method: "ModifyVolumeGroupMembership", code: Code.UNAVAILABLE, message: "busy" };
  w.h.driver.faults.add({ ...modify, times: Number.POSITIVE_INFINITY });
  await store.delete(PersistentVolumeClaims, at("b"));
  await w.db((group) => membersOf(group).includes("b: Leaving ClaimDeleted"));
  await w.snapshot();
  await w.error(/claim b is being deleted/);
  w.h.driver.faults.clear();
  await w.ready();
  assert.deepEqual(await w.snapshotOf(), ["a"]);
  await store.patch(PersistentVolumeClaims, at("b"), {
    type: "merge",
    body: { metadata: { finalizers: null } },
  });
});

test("a snapshot of a VolumeGroup changes none of its claims, however many there are", async (t) => {
  const calls = new Calls();
  const sidecars: Partial<SidecarOptions> = {};
  const w = await start(t, { sidecars });
  const names = Array.from({ length: 30 }, (_, index) => `c${10 + index}`);
  await w.claims(...names);
  await w.db(joined("a", "b", ...names));
  sidecars.store = calls.counted(w.h.store);
  await w.h.restart();
  await calls.quiet();
  calls.take();
  await w.snapshot();
  await w.ready();
  await calls.quiet();
  const { table } = calls.take();
  assert.doesNotMatch(table, /persistentvolumeclaims/);
  assert.equal((await w.snapshotOf()).length, 32);
});
