import assert from "node:assert/strict";
import { test } from "node:test";
import { Code } from "@mooring/csi";
import {
  VolumeGroupClasses,
  type VolumeGroupContent,
  VolumeGroupContents,
  VolumeGroups,
} from "../kube/volume-group.ts";
import { DRIVER } from "../testing/objects.ts";
import { volumeGroupClass } from "./testing/objects.ts";
import { at, joined, makeGroup, startWorld, type World } from "./testing/world.ts";

const summaryOf = ({ status }: VolumeGroupContent) =>
  (status?.conditions ?? []).map(({ reason, status: is, type }) => `${type}=${is} ${reason}`).join(", ");

/** Waits until the only content reports just this of itself. */
const reports = (w: World, wanted: string) =>
  w.until(
    `a content reports ${wanted}`,
    async () => (await w.store.list(VolumeGroupContents)).items.find((each) => summaryOf(each) === wanted),
    async () => (await w.store.list(VolumeGroupContents)).items.map(summaryOf),
  );

test("a content reports whether it is bound and there, when its group goes missing, and when its VolumeGroup is gone", async (t) => {
  const w = await startWorld(t, { sidecars: { volumeGroup: { driftMs: 50 } } });
  await w.store.delete(VolumeGroupClasses, { name: "groups" });
  await w.store.create(
    VolumeGroupClasses,
    volumeGroupClass({ deletionPolicy: "Retain", driftPolicy: "Report" }),
  );
  await w.claim("data", { app: "db" });
  await makeGroup(w, "db", ["data"]);
  const fine = await reports(w, "Bound=True Bound, Ready=True Ready, Degraded=False AsAsked");
  assert.equal(fine.status?.ready, true);
  const [id = "", stored] = [...w.driver.volumeGroups.groups][0] ?? [];
  w.driver.volumeGroups.groups.delete(id);
  const gone = await reports(w, "Bound=True Bound, Ready=False GroupMissing, Degraded=True GroupMissing");
  assert.equal(gone.status?.ready, false);
  if (stored !== undefined) w.driver.volumeGroups.groups.set(id, stored);
  await w.group("db", joined("data"));
  await reports(w, "Bound=True Bound, Ready=True Ready, Degraded=False AsAsked");
  stored?.members.add("vol-of-somebody");
  await reports(w, "Bound=True Bound, Ready=True Ready, Degraded=True MembershipDrift");
  stored?.members.delete("vol-of-somebody");
  await reports(w, "Bound=True Bound, Ready=True Ready, Degraded=False AsAsked");
  await w.store.delete(VolumeGroups, at("db"));
  await reports(w, "Bound=False Released, Ready=True Ready, Degraded=False AsAsked");
});

test("a content that nobody has taken reports it; one whose deletion fails reports why", async (t) => {
  const w = await startWorld(t);
  await w.store.create(VolumeGroupContents, {
    ...{ apiVersion: "storage.mooring.dev/v1alpha1", kind: "VolumeGroupContent", metadata: { name: "old" } },
    spec: {
      ...{ driver: DRIVER, deletionPolicy: "Retain" },
      ...{ volumeGroupRef: { name: "later", namespace: "default" }, source: { volumeGroupHandle: "vg-old" } },
    },
  });
  await reports(w, "Bound=False NotBound, Ready=False NotSeen, Degraded=False AsAsked");
  await w.store.delete(VolumeGroupContents, { name: "old" });
  await w.claim("data", { app: "db" });
  await makeGroup(w, "db", ["data"]);
  w.driver.faults.add({
    ...{ method: "DeleteVolumeGroup", code: Code.INTERNAL, message: "no power" },
    times: Number.POSITIVE_INFINITY,
  });
  await w.store.delete(VolumeGroups, at("db"));
  // Somebody who has no patience takes the finalizer off: nobody but the content can say it then.
  await w.group("db", ({ metadata }) => metadata.deletionTimestamp !== undefined);
  await w.store.patch(VolumeGroups, at("db"), { type: "merge", body: { metadata: { finalizers: [] } } });
  const left = await reports(w, "Bound=False Released, Ready=True Ready, Degraded=True CallFailed");
  assert.match(left.status?.conditions?.at(-1)?.message ?? "", /no power/);
  w.driver.faults.clear();
  await w.until("nothing is left", async () => (await w.store.list(VolumeGroupContents)).items.length === 0);
});
