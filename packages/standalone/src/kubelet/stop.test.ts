import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { KubeVolumeAttachments } from "@mooring/store";
import {
  assertNothingLeft,
  claim,
  eventually,
  logShows,
  PersistentVolumeClaims,
  Pods,
  phase,
  podWithClaim,
} from "./testing/test-cluster.ts";
import { FOREVER, volumeCluster } from "./testing/volume-cluster.ts";

const { cluster, folder, remove } = await volumeCluster();

test("a clean stop leaves no process, mount or attachment; the next start runs the pods again on their data", async () => {
  const { store } = cluster;
  await store.create(PersistentVolumeClaims, claim("again"));
  await store.create(
    Pods,
    podWithClaim("again", "again", `echo run >> /data/runs; wc -l < /data/runs; ${FOREVER}`, {
      restartPolicy: "Always",
    }),
  );
  await eventually(store, Pods, "again", phase("Running"));
  // Before it has its trap the program hears of no stop.
  await logShows(cluster, "again", /up\n/);
  await cluster.stopKubelet();
  await assertNothingLeft(join(folder, "kubelet"));
  assert.deepEqual((await store.list(KubeVolumeAttachments)).items, []);
  await cluster.startKubelet();
  const seen = await eventually(store, Pods, "again", (object) => {
    const status = object?.status?.containerStatuses?.[0];
    return status?.restartCount === 1 && status.state?.running !== undefined;
  });
  assert.equal(seen?.status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode, 0);
  await eventually(store, Pods, "again", phase("Running"));
  await logShows(cluster, "again", /^2\n/);
  await remove("again");
});
