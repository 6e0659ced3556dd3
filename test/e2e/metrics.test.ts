import assert from "node:assert/strict";
import { after, test } from "node:test";
import { RecurringJobs } from "@mooring/engine";
import { eventually, thorough } from "@mooring/store/testing";
import { Kubectl } from "../support/kubectl.ts";
import { claim, pod, snapshot } from "../support/manifests.ts";
import { parseScrape } from "../support/prometheus.ts";
import { Up } from "../support/up.ts";

const up = await Up.create();
after(() => up.dispose());

const MIB = 1024 ** 2;
const kubectl = () => new Kubectl(up.kubeconfig);

async function scrape() {
  const text = await kubectl().run("get", "--raw", "/metrics");
  const families = parseScrape(text);
  return {
    text,
    amountOf(family: string, labels: Record<string, string>, name = family): number | undefined {
      const samples = families.get(family)?.samples.filter((sample) => sample.name === name) ?? [];
      return samples.find((sample) =>
        Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
      )?.value;
    },
  };
}

test(
  "/metrics has what claims have left, as upstream's kubelet reports it, and goes with the pod",
  thorough(),
  async () => {
    await up.start();
    await kubectl().apply(JSON.stringify(claim("default", "data", { size: "64Mi" })));
    await kubectl().apply(JSON.stringify(claim("default", "raw", { size: "16Mi", block: true })));
    const script =
      "dd if=/dev/zero of=/data/file bs=1M count=10 2>/dev/null; sync -f /data; exec sleep infinity";
    const writer = pod("default", "writer", script, { mounts: { "/data": "data" } });
    writer.spec?.volumes?.push({ name: "raw", persistentVolumeClaim: { claimName: "raw" } });
    const [main] = writer.spec?.containers ?? [];
    assert.ok(main);
    await kubectl().apply(
      JSON.stringify({
        ...writer,
        spec: {
          ...writer.spec,
          containers: [{ ...main, volumeDevices: [{ name: "raw", devicePath: "/dev/raw" }] }],
        },
      }),
    );
    await kubectl().run("wait", "--for=condition=Ready", "pod/writer", "--timeout=120s");
    const labels = { namespace: "default", persistentvolumeclaim: "data" };
    const stat = (
      await kubectl().run(
        ...[
          "exec",
          "writer",
          "--",
          "sh",
          "-c",
          "sync -f /data; df -B1 --output=size,used,avail,itotal,iused,iavail /data",
        ],
      )
    )
      .trim()
      .split("\n")[1]
      ?.trim()
      .split(/\s+/)
      .map(Number);
    await eventually("10 MiB to be used", async () => {
      const { amountOf } = await scrape();
      return (amountOf("kubelet_volume_stats_used_bytes", labels) ?? 0) >= 10 * MIB;
    });
    const { amountOf, text } = await scrape();
    const shown = [
      "capacity_bytes",
      "used_bytes",
      "available_bytes",
      "inodes",
      "inodes_used",
      "inodes_free",
    ].map((name) => amountOf(`kubelet_volume_stats_${name}`, labels));
    assert.deepEqual(shown, stat, text);
    const raw = { namespace: "default", persistentvolumeclaim: "raw" };
    assert.equal(amountOf("kubelet_volume_stats_capacity_bytes", raw), 16 * MIB);
    assert.equal(amountOf("kubelet_volume_stats_inodes", raw), undefined);
    await kubectl().run("delete", "pod/writer");
    await eventually("the volumes to go", async () => !/kubelet_volume_stats/.test((await scrape()).text));
  },
);

test(
  "/metrics counts snapshots and their time, and what recurring jobs did and when they last succeeded",
  thorough(),
  async () => {
    const store = await up.store();
    await kubectl().apply(JSON.stringify(snapshot("default", "one", "data")));
    await kubectl().run(
      ...["wait", "volumesnapshot/one", "--for=jsonpath={.status.readyToUse}=true", "--timeout=120s"],
    );
    const begun = Date.now() / 1000;
    await store.create(RecurringJobs, {
      ...{ apiVersion: "storage.mooring.dev/v1alpha1", kind: "RecurringJob", metadata: { name: "often" } },
      spec: { cron: "* * * * * *", task: "snapshot", retain: 2, groups: ["default"] },
    });
    const found = await eventually("the job to succeed", async () => {
      const seen = await scrape();
      const last = seen.amountOf("mooring_recurring_job_last_success_timestamp_seconds", { job: "often" });
      return last === undefined ? undefined : { ...seen, last };
    });
    assert.ok(found.last > begun - 1 && found.last < Date.now() / 1000 + 1, `${found.last}`);
    assert.ok((found.amountOf("mooring_recurring_job_runs_total", { job: "often" }) ?? 0) > 0);
    assert.equal(found.amountOf("mooring_recurring_job_failures_total", { job: "often" }), 0);
    const pool = { pool: "default" };
    assert.ok((found.amountOf("mooring_snapshots", { ...pool, state: "ready" }) ?? 0) >= 2, found.text);
    assert.equal(found.amountOf("mooring_snapshot_failures_total", pool), 0);
    const duration = "mooring_snapshot_duration_seconds";
    assert.ok((found.amountOf(duration, pool, `${duration}_count`) ?? 0) >= 2);
    await kubectl().run("delete", "recurringjob/often");
    await eventually("the job's metrics to go", async () => !/often/.test((await scrape()).text));
  },
);
