import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually, thorough } from "@mooring/store/testing";
import { breakPool } from "../support/break-pool.ts";
import { Kubectl } from "../support/kubectl.ts";
import { claim, pod } from "../support/manifests.ts";
import { mooring } from "../support/mooring.ts";
import { Up } from "../support/up.ts";

const MOUNTS = { mounts: { "/data": "data" } };
const WRITER =
  "echo precious > /data/kept; sync /data/kept; sync -f /data; touch /tmp/kept; exec sleep infinity";

async function isReady(kubectl: Kubectl): Promise<boolean> {
  return (await kubectl.run("get", "pool", "default", "-o", "jsonpath={.status.ready}")) === "true";
}

/** What an operator reads, wherever that is: what has failed, and the command that lets it go on. */
async function isReported({ stateDir, kubeconfig }: Up, type: string): Promise<void> {
  const cause = new RegExp(
    `the ${type} file system at \\S+/pools/default/mnt .*every write to its volumes fails`,
  );
  for (const target of ["pod/writer", "pvc/data", "pool/default"]) {
    const { code, stdout, stderr } = await mooring("why", target, "--kubeconfig", kubeconfig);
    assert.equal(code, 1, `${stdout}${stderr}`);
    assert.match(stdout, cause);
    assert.match(stdout, /^next: kubectl delete pod -n default writer$/m);
  }
  const doctor = await mooring("doctor", "--state-dir", stateDir);
  assert.equal(doctor.code, 1, doctor.stdout);
  assert.match(doctor.stdout, /Pool default +fail/);
  assert.match(doctor.stdout, cause);
  assert.match(doctor.stdout, /next: Pool default: kubectl delete pod -n default writer$/m);
}

for (const [type, kill] of [
  ["xfs", false],
  ["xfs", true],
  ["btrfs", true],
] as const)
  test(
    `a pool whose ${type} has failed under a pod is reported with what to do${kill ? ", also by a new process," : ""} and works again when the pod has ended`,
    thorough(),
    async (t) => {
      const up = await Up.create({ pool: type, poolSize: "1Gi" });
      t.after(() => up.dispose());
      await up.start();
      const kubectl = new Kubectl(up.kubeconfig);
      await kubectl.apply(JSON.stringify(claim("default", "data")));
      await kubectl.apply(JSON.stringify(pod("default", "writer", WRITER, MOUNTS)));
      await kubectl.run("wait", "--for=condition=Ready", "pod/writer", "--timeout=120s");
      await eventually("what is precious to be on disk", () =>
        kubectl.run("exec", "writer", "--", "test", "-e", "/tmp/kept").then(
          () => true,
          () => false,
        ),
      );

      await breakPool(up.stateDir, { name: "default", type });
      await eventually("the pool not to be ready", async () => !(await isReady(kubectl)));
      await isReported(up, type);
      if (kill) {
        await up.end("SIGKILL");
        await up.start();
        await isReported(up, type);
      }

      const again = new Kubectl(up.kubeconfig);
      await again.run("delete", "pod", "writer", "--timeout=120s");
      await eventually("the pool to be ready", () => isReady(again));
      const reader = pod(
        "default",
        "reader",
        "cat /data/kept; echo more > /data/more; sync /data/more",
        MOUNTS,
      );
      await again.apply(JSON.stringify(reader));
      await again.run("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/reader", "--timeout=120s");
      assert.equal(await again.run("logs", "reader"), "precious\n");
    },
  );

test(
  "pods that come back by themselves keep no failed pool from being mounted anew",
  thorough(),
  async (t) => {
    const up = await Up.create({ pool: "btrfs", poolSize: "1Gi" });
    t.after(() => up.dispose());
    await up.start();
    const kubectl = new Kubectl(up.kubeconfig);
    const { spec } = pod("default", "db", "exec sleep infinity", MOUNTS);
    await kubectl.apply(
      JSON.stringify({
        ...{ apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name: "db" } },
        spec: {
          ...{ replicas: 2, serviceName: "db", selector: { matchLabels: { app: "db" } } },
          template: {
            metadata: { labels: { app: "db" } },
            spec: { ...spec, restartPolicy: "Always", volumes: undefined },
          },
          volumeClaimTemplates: [claim("default", "data")],
        },
      }),
    );
    await kubectl.run("rollout", "status", "sts/db", "--timeout=120s");
    await breakPool(up.stateDir, { name: "default", type: "btrfs" });
    await eventually("the pool not to be ready", async () => !(await isReady(kubectl)));

    // One after the other, so that the first is back before the second has gone.
    await kubectl.run("delete", "pod", "db-0", "--timeout=120s");
    await kubectl.run("wait", "--for=create", "pod/db-0", "--timeout=120s");
    await kubectl.run("delete", "pod", "db-1", "--timeout=120s");
    await eventually("the pool to be ready", () => isReady(kubectl));
    await kubectl.run("rollout", "status", "sts/db", "--timeout=120s");
  },
);
