import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { VolumeGroupReverts } from "@mooring/engine";
import { VolumeGroupClones, VolumeGroups } from "@mooring/sidecars";
import { defined, type LocalStore, Namespaces, type UnstructuredObject } from "@mooring/store";
import { statusReport } from "../status/report.ts";
import { storeOf } from "../why/testing.ts";
import type { Check } from "./check.ts";
import { objectChecks, WATCHED_KINDS } from "./object-checks.ts";

const LATER = new Date(Date.now() + 3_600_000);
const OURS = "storage.mooring.dev/v1alpha1";

/** Without what is fine. */
const troubles = async (store: LocalStore): Promise<Check[]> =>
  (await objectChecks(store, LATER)).filter(({ state }) => state !== "ok");

async function open(t: TestContext, without: readonly object[] = []): Promise<LocalStore> {
  return storeOf(t, [Namespaces, ...WATCHED_KINDS.filter((kind) => !without.includes(kind))]);
}

const revert = (name: string, status?: object): UnstructuredObject => ({
  ...{ apiVersion: OURS, kind: "VolumeGroupRevert", metadata: { name, namespace: "default" } },
  spec: { source: { volumeGroupSnapshotName: "noon" } },
  ...defined({ status }),
});

test("doctor names the group reverts that wait or have failed, and what to do; a complete one is no trouble", async (t) => {
  const store = await open(t);
  const members = [{ claim: "data", volume: "v-1", snapshot: "s-1" }];
  for (const each of [
    revert("done", { phase: "Complete", message: "1 volumes are as they were in the group snapshot" }),
    revert("held", { phase: "Holding", message: "waits for volume v-1 (claim data)", members }),
    revert("off", { phase: "Failed", message: "snapshot s-1 is gone", members }),
    revert("new"),
  ])
    await store.create(VolumeGroupReverts, each as never);
  const found = await troubles(store);
  const reported = found.map(({ check, state }) => `${check} ${state}`).sort();
  assert.deepEqual(reported, [
    "VolumeGroupRevert default/held fail",
    "VolumeGroupRevert default/new fail",
    "VolumeGroupRevert default/off fail",
  ]);
  const off = found.find(({ check }) => check.endsWith("/off"));
  assert.match(off?.detail ?? "", /Failed: snapshot s-1 is gone/);
  assert.match(off?.next ?? "", /create another one/);
});

test("doctor and status name kinds that the cluster does not have, and report on all others", async (t) => {
  const store = await open(t, [VolumeGroupClones, VolumeGroups]);
  await store.create(VolumeGroupReverts, revert("off", { phase: "Failed", message: "no" }) as never);
  const missing = (checks: readonly Check[]) => checks.filter(({ check }) => check.startsWith("Kind "));
  const found = await troubles(store);
  assert.deepEqual(
    missing(found)
      .map(({ check, state }) => `${check} ${state}`)
      .sort(),
    ["Kind VolumeGroup warn", "Kind VolumeGroupClone warn"],
  );
  const [first] = missing(found);
  assert.match(first?.next ?? "", /kubectl apply -f deploy\/crds\/storage\.mooring\.dev_volumegroup/);
  assert.ok(
    found.some(({ check }) => check === "VolumeGroupRevert default/off"),
    "the others are checked",
  );
  const report = await statusReport(store, LATER);
  assert.equal(missing(report.troubles).length, 2);
  assert.ok(report.counts.some(({ kind }) => kind === "PersistentVolumeClaim"));
  assert.ok(!report.counts.some(({ kind }) => kind === "VolumeGroup"), "nobody counts what there cannot be");
});
