import { delay } from "@mooring/store";
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

/** Runs a pod that counts on a claim, prints that, and goes on until it is killed. */
const cluster = await startTestCluster(process.argv[2] ?? "");
const script =
  "echo 0 > /data/count; echo up; i=0; while :; do i=$((i+1)); echo $i > /data/new; mv /data/new /data/count; sleep 0.02; done";
await cluster.store.create(PersistentVolumeClaims, claim("data"));
await cluster.store.create(Pods, podWithClaim("app", "data", script, { restartPolicy: "Always" }));
await eventually(cluster.store, Pods, "app", { until: phase("Running"), seconds: 60 });
while (!(await logOf(cluster, "app")).includes("up")) await delay(20);
process.stdout.write("running\n");
