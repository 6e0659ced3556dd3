import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import {
  PersistentVolumeClaims,
  StorageClasses,
  VolumeGroupSnapshotClasses,
  VolumeGroupSnapshots,
} from "@mooring/store";
import { startSidecars } from "../start.ts";
import { fresh, groupWorld, labelled, NS } from "../testing/group-world.ts";
import { groupClass, groupSnapshot, storageClass } from "../testing/objects.ts";
import { ScriptedDriver } from "../testing/scripted-driver.ts";

const OTHER = "other.csi.example.com";
const DEFAULT = { "groupsnapshot.storage.kubernetes.io/is-default-class": "true" };
const byApp = (app: string) => ({ source: { selector: { matchLabels: { app } } } });

/** Two drivers around one API, each with a default class and a claim; `mixed` selects both claims. */
async function twoDrivers(t: TestContext, groups: boolean) {
  const w = await groupWorld(t, {
    objects: [
      [StorageClasses, storageClass({ metadata: { name: "slow" }, provisioner: OTHER })],
      [VolumeGroupSnapshotClasses, groupClass({ metadata: { name: "mine", annotations: DEFAULT } })],
      [
        VolumeGroupSnapshotClasses,
        groupClass({ metadata: { name: "theirs", annotations: DEFAULT }, driver: OTHER }),
      ],
    ],
  });
  const other = await ScriptedDriver.start({ name: OTHER, groups });
  const stop = new AbortController();
  const { done } = await startSidecars({
    store: w.h.store,
    endpoint: other.endpoint,
    retry: { startMs: 5, maxMs: 40, infeasibleMs: 60 },
    signal: stop.signal,
  });
  t.after(async () => {
    stop.abort();
    await done.catch(() => {});
    await other.stop();
  });
  const claim = async (name: string, spec: object) => {
    await w.h.store.create(PersistentVolumeClaims, labelled(name, { app: name, all: "yes" }, spec));
    await w.h.until(
      `${name} is bound`,
      async () => (await w.h.find(PersistentVolumeClaims, name, NS))?.status?.phase === "Bound",
    );
  };
  await claim("mine", {});
  await claim("theirs", { storageClassName: "slow" });
  const create = (name: string, spec: object) =>
    w.h.store.create(VolumeGroupSnapshots, fresh(groupSnapshot(name, { source: {}, ...spec })));
  return { ...w, other, create };
}

test("two drivers take each their own group snapshots, and refuse one over both", async (t) => {
  const w = await twoDrivers(t, true);
  await w.create("mine", byApp("mine"));
  await w.create("theirs", byApp("theirs"));
  await w.create("mixed", { source: { selector: { matchLabels: { all: "yes" } } } });
  await w.ready("mine");
  await w.ready("theirs");
  await w.error(
    /claims are of more than one driver: other\.csi\.example\.com, test\.csi\.example\.com/,
    "mixed",
  );
  for (const driver of [w.h.driver, w.other]) assert.equal(driver.called("CreateVolumeGroupSnapshot"), 1);
  for (const name of ["mine", "theirs", "mixed"]) {
    await w.remove(name);
    await w.gone(name);
  }
  for (const driver of [w.h.driver, w.other]) assert.equal(driver.backend.groups.size, 0);
  assert.deepEqual(await w.members(), []);
});

test("a driver without groups does not speak for another's", async (t) => {
  const w = await twoDrivers(t, false);
  await w.create("mine", byApp("mine"));
  await w.create("theirs", byApp("theirs"));
  await w.create("brought", { source: { volumeGroupSnapshotContentName: "missing" } });
  const { status } = await w.ready("mine");
  assert.equal(status?.error, undefined);
  await w.error(/driver other\.csi\.example\.com cannot take group snapshots/, "theirs");
  await w.error(/VolumeGroupSnapshotContent missing is missing/, "brought");
});
