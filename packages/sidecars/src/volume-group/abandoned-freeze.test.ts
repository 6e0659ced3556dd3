import assert from "node:assert/strict";
import { test } from "node:test";
import { VolumeGroupSnapshots } from "@mooring/store";
import { GROUP_FINALIZER } from "../common/names.ts";
import { fresh } from "../testing/group-world.ts";
import { groupSnapshot } from "../testing/objects.ts";
import { SNAPSHOT_OF_GROUP } from "./names.ts";
import { at, joined, makeGroup, startWorld } from "./testing/world.ts";

test("with no controller of group snapshots a group stays frozen and says for which, until that snapshot is deleted", async (t) => {
  const w = await startWorld(t);
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
  const frozen = await w.group("db", ({ status }) => status?.members?.[1]?.state === "Joining");
  const synced = frozen.status?.conditions?.find(({ type }) => type === "MembersSynced");
  assert.deepEqual([synced?.status, synced?.reason], ["False", "Frozen"]);
  assert.match(synced?.message ?? "", /VolumeGroupSnapshot noon is cut; not settled: late/);
  assert.deepEqual(w.stored("vg-1"), ["vol-data"]);
  await w.store.delete(VolumeGroupSnapshots, at("noon"));
  await w.group("db", joined("data", "late"));
  const left = await w.store.get(VolumeGroupSnapshots, at("noon"));
  assert.ok(left.metadata.deletionTimestamp, "nobody was there to end the deletion, and the group went on");
  assert.deepEqual(w.stored("vg-1"), ["vol-data", "vol-late"]);
});
