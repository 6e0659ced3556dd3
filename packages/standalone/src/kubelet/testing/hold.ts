import {
  claim,
  eventually,
  PersistentVolumeClaims,
  Pods,
  phase,
  podWithClaim,
  startTestCluster,
} from "./test-cluster.ts";

/** Runs a pod that counts on a claim, says so, and goes on until it is killed. */
const cluster = await startTestCluster(process.argv[2] ?? "");
const script = "i=0; while :; do i=$((i+1)); echo $i > /data/count; sleep 0.02; done";
await cluster.store.create(PersistentVolumeClaims, claim("data"));
await cluster.store.create(
  Pods,
  podWithClaim("app", "data", `echo up; ${script}`, { restartPolicy: "Always" }),
);
await eventually(cluster.store, Pods, "app", phase("Running"), 60);
process.stdout.write("running\n");
