import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, metricsText } from "@mooring/csi";
import { PersistentVolumeClaims, PersistentVolumes, StorageClasses } from "@mooring/store";
import { startHarness } from "../testing/harness.ts";
import { claim, storageClass } from "../testing/objects.ts";
import { volumeMetrics } from "./volume-metrics.ts";

/** Of this class alone: they are of the whole process. Without the buckets and the time. */
const counts = (): string[] =>
  metricsText(volumeMetrics())
    .split("\n")
    .filter((line) => /^controller_.*(_total|_count)\{class="counted"/.test(line));

test("claims and volumes are counted under the names of external-provisioner", async (t) => {
  const counted = storageClass({ metadata: { name: "counted" } });
  const h = await startHarness(t, { objects: [[StorageClasses, counted]] });
  h.driver.faults.add({ method: "CreateVolume", code: Code.INTERNAL });
  h.driver.faults.add({ method: "DeleteVolume", code: Code.INTERNAL });
  const key = { name: "one", namespace: "default" };
  await h.store.create(PersistentVolumeClaims, claim("one", { storageClassName: "counted" }));
  const isBound = async () => (await h.store.get(PersistentVolumeClaims, key)).status?.phase === "Bound";
  await h.until("it is bound", isBound);
  await h.store.delete(PersistentVolumeClaims, key);
  await h.until("it is gone", async () => (await h.store.list(PersistentVolumes)).items.length === 0);
  const labels = `class="counted"`;
  const claims = `${labels},source=""`;
  assert.deepEqual(counts(), [
    `controller_persistentvolumeclaim_provision_total{${claims}} 1`,
    `controller_persistentvolumeclaim_provision_failed_total{${claims}} 1`,
    `controller_persistentvolumeclaim_provision_duration_seconds_count{${claims}} 1`,
    `controller_persistentvolume_delete_total{${labels}} 1`,
    `controller_persistentvolume_delete_failed_total{${labels}} 1`,
    `controller_persistentvolume_delete_duration_seconds_count{${labels}} 1`,
  ]);
});
