import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { machineSupport } from "../runtime/index.ts";
import { eventually, logOf, logShows, Pods, phase, pod } from "./testing/test-cluster.ts";
import { FOREVER, volumeCluster } from "./testing/volume-cluster.ts";

const { cluster, folder, remove } = await volumeCluster();
const { store } = cluster;
const { controllers: here } = await machineSupport();

function limited(name: string, script: string, limits: Record<string, string>) {
  const command = ["sh", "-c", script];
  return pod(name, "", { containers: [{ name: "main", image: "host", command, resources: { limits } }] });
}

test("a pod that asks for what it would not get waits, and its status names the field", async () => {
  const command = ["sh", "-c", FOREVER];
  const securityContext = { privileged: true };
  await store.create(
    Pods,
    pod("refused", "", { containers: [{ name: "main", image: "host", command, securityContext }] }),
  );
  const seen = await eventually(
    store,
    Pods,
    "refused",
    (object) =>
      object?.status?.containerStatuses?.[0]?.state?.waiting?.reason === "CreateContainerConfigError",
  );
  assert.match(
    seen?.status?.containerStatuses?.[0]?.state?.waiting?.message ?? "",
    /spec\.containers\[0\]\.securityContext\.privileged/,
  );
  await remove("refused");
});

test("a container that takes more memory than its limit is killed, and reported as OOMKilled", {
  skip: here.has("memory") ? false : "this machine has no memory controller",
}, async () => {
  const script = "exec perl -e 'my @all; push @all, q(x) x 1048576 for 1 .. 512; print qq(all of it\\n)'";
  await store.create(Pods, limited("memory", script, { memory: "64Mi" }));
  const seen = await eventually(store, Pods, "memory", phase("Failed"));
  const { terminated } = seen?.status?.containerStatuses?.[0]?.state ?? {};
  assert.deepEqual([terminated?.reason, terminated?.exitCode], ["OOMKilled", 137]);
  assert.equal(await logOf(cluster, "memory"), "");
  await remove("memory");
});

test("processor time and the number of processes are bounded", {
  skip: here.has("cpu") && here.has("pids") ? false : "this machine has no cpu or pids controller",
}, async () => {
  const files = "/sys/fs/cgroup/cpu.max /sys/fs/cgroup/cpu/cpu.cfs_quota_us";
  const most = "/sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max";
  await store.create(
    Pods,
    limited("bounded", `cat ${files} ${most} 2>/dev/null; ${FOREVER}`, { cpu: "250m" }),
  );
  await eventually(store, Pods, "bounded", phase("Running"));
  await logShows(cluster, "bounded", /^25000(?: 100000)?\n4096\nup\n$/);
  await remove("bounded");
});

test("a clean stop is no crash: also a container that was restarted before runs again at once", async () => {
  // Fails once, so that one more restart would have to wait.
  const script = `[ -e /data/failed ] || { touch /data/failed; exit 1; }; ${FOREVER}`;
  const container = { name: "main", image: "host", command: ["sh", "-c", script] };
  await store.create(
    Pods,
    pod("stopped", "", {
      restartPolicy: "Always",
      containers: [{ ...container, volumeMounts: [{ name: "data", mountPath: "/data" }] }],
      volumes: [{ name: "data", hostPath: { path: join(folder, "data"), type: "DirectoryOrCreate" } }],
    }),
  );
  const restarted = (count: number) => (object: Parameters<ReturnType<typeof phase>>[0]) => {
    const status = object?.status?.containerStatuses?.[0];
    return status?.restartCount === count && status.state?.running !== undefined;
  };
  await eventually(store, Pods, "stopped", restarted(1));
  await logShows(cluster, "stopped", /up/);
  await cluster.stopKubelet();
  const reasons = new Set<string | undefined>();
  const again = eventually(store, Pods, "stopped", (object) => {
    reasons.add(object?.status?.containerStatuses?.[0]?.state?.waiting?.reason);
    return restarted(2)(object);
  });
  await Promise.all([again, cluster.startKubelet()]);
  const status = (await store.get(Pods, { namespace: "default", name: "stopped" })).status
    ?.containerStatuses?.[0];
  assert.ok(!reasons.has("CrashLoopBackOff"), "it did not wait as after a crash");
  assert.equal(status?.lastState?.terminated?.reason, "Shutdown");
  await remove("stopped");
});
