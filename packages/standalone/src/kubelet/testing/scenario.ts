import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isAlreadyExists, isNotFound, KubeVolumeAttachments, PersistentVolumes } from "@mooring/store";
import {
  claim,
  eventually,
  logOf,
  PersistentVolumeClaims,
  Pods,
  phase,
  podWithClaim,
  startTestCluster,
} from "./test-cluster.ts";

/**
 * A life of a claim and a pod that can be interrupted anywhere and run again on the same folder (the argument): made,
 * used, deleted. Prints `done` when nothing is left.
 */
const folder = process.argv[2] ?? "";
const stageFile = join(folder, "stage");
const SCRIPT =
  "echo start >> /data/starts; echo up; trap 'echo bye; exit 0' TERM; while :; do sleep 0.05; done";

const cluster = await startTestCluster(folder);
const { store } = cluster;
const ignore = (allowed: (error: unknown) => boolean) => (error: unknown) => {
  if (!allowed(error)) throw error;
};

if ((await readFile(stageFile, "utf8").catch(() => "use")) === "use") {
  await store.create(PersistentVolumeClaims, claim("data")).catch(ignore(isAlreadyExists));
  const wanted = podWithClaim("app", "data", SCRIPT, { restartPolicy: "Always" });
  await store.create(Pods, wanted).catch(ignore(isAlreadyExists));
  await eventually(
    store,
    Pods,
    "app",
    (pod) => phase("Running")(pod) && pod?.status?.containerStatuses?.[0]?.state?.running !== undefined,
    60,
  );
  while (!(await logOf(cluster, "app")).includes("up"))
    await new Promise((resolve) => setTimeout(resolve, 20));
  process.stdout.write("running\n");
  await writeFile(stageFile, "delete");
}
await store.delete(Pods, { namespace: "default", name: "app" }).catch(ignore(isNotFound));
await eventually(store, Pods, "app", (pod) => pod === undefined, 60);
await store.delete(PersistentVolumeClaims, { namespace: "default", name: "data" }).catch(ignore(isNotFound));
await eventually(store, PersistentVolumeClaims, "data", (object) => object === undefined, 60);
for (const { metadata } of (await store.list(PersistentVolumes)).items) {
  await eventually(store, PersistentVolumes, metadata.name, (object) => object === undefined, 60);
}
for (const { metadata } of (await store.list(KubeVolumeAttachments)).items) {
  await eventually(store, KubeVolumeAttachments, metadata.name, (object) => object === undefined, 60);
}
await cluster.stop();
process.stdout.write("done\n");
