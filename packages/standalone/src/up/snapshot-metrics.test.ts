import assert from "node:assert/strict";
import { test } from "node:test";
import { metricsText } from "@mooring/csi";
import type { Snapshot, SnapshotStatus } from "@mooring/engine";
import { SnapshotMetrics } from "./snapshot-metrics.ts";

const error = { code: "RESOURCE_EXHAUSTED", message: "no room" };
const snapshot = (name: string, status: Partial<SnapshotStatus> = {}): Snapshot => ({
  ...{ apiVersion: "storage.mooring.dev/v1alpha1", kind: "Snapshot", metadata: { name, uid: name } },
  spec: { volume: "v", pool: "p" },
  status: { readyToUse: false, ...status },
});

test("snapshots are counted by state, a failure once however often it is tried, and timed from their request on", () => {
  let passed = 0;
  const metrics = new SnapshotMetrics(() => passed);
  const [slow, failed, old] = ["slow", "failed", "old"].map((name) => snapshot(name));
  assert.ok(slow && failed && old);
  const ready = { readyToUse: true };
  metrics.changed(undefined, snapshot("old", ready));
  metrics.changed(undefined, slow);
  metrics.changed(undefined, failed);
  passed = 400;
  const withError = snapshot("failed", { error });
  metrics.changed(failed, withError);
  metrics.changed(withError, snapshot("failed", { error, failures: 2 }));
  metrics.changed(slow, snapshot("slow", ready));
  metrics.changed(snapshot("slow", ready), undefined);
  const text = metricsText(metrics.families([snapshot("old", ready), withError, snapshot("new")]));
  for (const line of [
    'mooring_snapshots{pool="p",state="ready"} 1',
    'mooring_snapshots{pool="p",state="pending"} 1',
    'mooring_snapshots{pool="p",state="failed"} 1',
    'mooring_snapshot_failures_total{pool="p"} 1',
    'mooring_snapshot_duration_seconds_bucket{pool="p",le="0.25"} 0',
    'mooring_snapshot_duration_seconds_bucket{pool="p",le="0.5"} 1',
    'mooring_snapshot_duration_seconds_bucket{pool="p",le="+Inf"} 1',
    'mooring_snapshot_duration_seconds_sum{pool="p"} 0.4',
    'mooring_snapshot_duration_seconds_count{pool="p"} 1',
  ])
    assert.ok(text.split("\n").includes(line), `${line}\n${text}`);
});
