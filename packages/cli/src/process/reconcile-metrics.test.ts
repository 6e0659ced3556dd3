import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { metricsText } from "@mooring/csi";
import {
  createInformer,
  DONE,
  LocalStore,
  Nodes,
  Reconciler,
  ResourceRegistry,
  source,
} from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { queueMetrics } from "./queue-metrics.ts";
import { reconcileMetrics } from "./reconcile-metrics.ts";

test("what controllers do is counted by controller, and so is what a resync has had to find", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "metrics-"));
  const registry = new ResourceRegistry();
  registry.register({ resource: Nodes, hasStatus: true });
  const store = await LocalStore.open({ path: folder, registry });
  const stop = new AbortController();
  t.after(async () => {
    stop.abort();
    await Promise.all([informing, running]);
    await store.close();
    await rm(folder, { recursive: true });
  });
  const nodes = createInformer(store, Nodes);
  const informing = nodes.run(stop.signal);
  let due = false;
  const controller = new Reconciler<{ due: boolean }, { do: "work" }>({
    failpoints: () => {},
    ...{ name: "sleepy", store, resyncMs: 50 },
    sources: [source(nodes, ({ metadata }) => [metadata.name])],
    // Read past the reader: no event reports it.
    read: () => ({ due }),
    decide: (view) => (view.due ? { do: "work" } : DONE),
    apply: async () => {
      due = false;
    },
  });
  const running = controller.run(stop.signal);
  await store.create(Nodes, { apiVersion: "v1", kind: "Node", metadata: { name: "n" } });
  const shows = (line: string) => metricsText(reconcileMetrics()).includes(line);
  await eventually("the key is worked on", () => shows('mooring_reconcile_total{controller="sleepy"} 1'));
  assert.ok(shows('mooring_reconcile_resync_found_total{controller="sleepy"} 0'));
  assert.ok(shows('mooring_reconcile_endless_total{controller="sleepy"} 0'));
  due = true;
  await eventually("a resync finds it", () =>
    shows('mooring_reconcile_resync_found_total{controller="sleepy"} 1'),
  );
  const queued = () => metricsText(queueMetrics());
  assert.match(queued(), /workqueue_adds_total\{name="sleepy"\} [1-9]/);
  assert.match(queued(), /workqueue_queue_duration_seconds_count\{name="sleepy"\} [1-9]/);
  await eventually("no worker has the key", () => {
    const text = queued();
    return ["depth", "unfinished_work_seconds", "longest_running_processor_seconds"].every((name) =>
      text.includes(`workqueue_${name}{name="sleepy"} 0\n`),
    );
  });
  await eventually("it is done", () => shows('mooring_reconcile_steps_total{controller="sleepy"} 1'));
});
