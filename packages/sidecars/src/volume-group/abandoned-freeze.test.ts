import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Events, VolumeGroupSnapshots } from "@mooring/store";
import { GROUP_FINALIZER } from "../common/names.ts";
import { SNAPSHOT_OF_GROUP } from "../common/volume-group-names.ts";
import { fresh } from "../testing/group-world.ts";
import type { HarnessOptions } from "../testing/harness.ts";
import { groupSnapshot } from "../testing/objects.ts";
import { at, joined, makeGroup, startWorld, type World } from "./testing/world.ts";

/** VolumeGroup `db` of claim `data`, frozen for a group snapshot that nobody makes. */
async function startFrozen(t: TestContext, options: HarnessOptions = {}): Promise<World> {
  const w = await startWorld(t, options);
  await w.claim("data", { app: "db" });
  await makeGroup(w, "db", ["data"]);
  const asked = fresh(groupSnapshot("noon", { source: { selector: {} } }));
  const metadata = {
    ...asked.metadata,
    annotations: { [SNAPSHOT_OF_GROUP]: "db" },
    finalizers: [GROUP_FINALIZER],
  };
  await w.store.create(VolumeGroupSnapshots, { ...asked, metadata });
  await w.group("db", ({ status }) => status?.frozenFor?.[0]?.name === "noon");
  await w.claim("late", { app: "db" });
  return w;
}

test("with no controller of group snapshots a group is frozen and says for which, and deleting that thaws it at once", async (t) => {
  const w = await startFrozen(t);
  const frozen = await w.group("db", ({ status }) => status?.members?.[1]?.state === "Joining");
  const synced = frozen.status?.conditions?.find(({ type }) => type === "MembersSynced");
  assert.deepEqual([synced?.status, synced?.reason], ["False", "Frozen"]);
  assert.match(synced?.message ?? "", /VolumeGroupSnapshot noon is made; not settled: late/);
  assert.deepEqual(w.stored("vg-1"), ["vol-data"]);
  await w.store.delete(VolumeGroupSnapshots, at("noon"));
  await w.group("db", joined("data", "late"));
  const left = await w.store.get(VolumeGroupSnapshots, at("noon"));
  assert.ok(left.metadata.deletionTimestamp, "nobody was there to end the deletion, and the group went on");
  assert.deepEqual(w.stored("vg-1"), ["vol-data", "vol-late"]);
});

test("a freeze of which nobody makes use in time ends by itself, and is not granted to the same attempt again", async (t) => {
  const w = await startFrozen(t, { sidecars: { timeoutMs: 1_000 } });
  const thawed = await w.group("db", joined("data", "late"));
  assert.deepEqual(w.stored("vg-1"), ["vol-data", "vol-late"]);
  const [grant] = thawed.status?.frozenFor ?? [];
  assert.deepEqual([grant?.name, grant?.attempt, grant?.expired], ["noon", 0, true]);
  await w.claim("later", { app: "db" });
  await w.group("db", joined("data", "late", "later"));
  const reported = await w.until("an event", async () => {
    const { items } = await w.store.list(Events, { namespace: "default" });
    return items.find(({ reason }) => reason === "FreezeExpired");
  });
  assert.match(reported.message ?? "", /VolumeGroupSnapshot noon since .* the group goes on/);
  await w.store.delete(VolumeGroupSnapshots, at("noon"));
  await w.group("db", ({ status }) => status?.frozenFor === undefined);
});
