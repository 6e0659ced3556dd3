import type { MetricFamily, MetricSample } from "@mooring/csi";
import { backlogs, type Durations, QUEUE_BOUNDS, queueCounts } from "@mooring/store";

/**
 * What a queue is called whose keys are those of a queue of the sidecars of the Kubernetes project: their dashboards ask for it. Any
 * other has its controller's name.
 */
const NAMES: Readonly<Record<string, string>> = {
  provision: "claims",
  reclaim: "volumes",
  attach: "csi-attacher-va",
  "attach/volumes": "csi-attacher-pv",
  capacity: "csistoragecapacity",
  snapshot: "snapshot-controller-snapshot",
  "snapshot-content": "csi-snapshotter-content",
  "group-snapshot": "snapshot-controller-group-snapshot",
};

const labelsOf = (controller: string) => ({ name: NAMES[controller] ?? controller });

/** The work queues of this process' controllers, under the names that client-go has for those of Go programs. */
export function queueMetrics(): MetricFamily[] {
  const counts = [...queueCounts()].map(([controller, each]) => ({ labels: labelsOf(controller), ...each }));
  const counter = (of: "adds" | "retries", help: string): MetricFamily => ({
    ...{ name: `workqueue_${of}_total`, type: "counter", help },
    samples: counts.map(({ labels, [of]: value }) => ({ labels, value })),
  });
  const histogram = (of: "waited" | "worked", name: string, help: string): MetricFamily => ({
    ...{ name: `workqueue_${name}_duration_seconds`, type: "histogram", help },
    samples: counts.flatMap(({ labels, [of]: durations }) => samplesOf(labels, durations)),
  });
  return [
    counter("adds", "Total number of adds handled by workqueue"),
    counter("retries", "Total number of retries handled by workqueue"),
    histogram("waited", "queue", "How long in seconds an item stays in workqueue before being requested."),
    histogram("worked", "work", "How long in seconds processing an item from workqueue takes."),
    ...gauges(),
  ];
}

/** As it is now. Controllers of one name, of several drivers, share a queue's name. */
function gauges(): MetricFamily[] {
  const now = new Map<string, { ready: number; active: number[] }>();
  for (const { controller, ready, activeMs } of backlogs()) {
    const before = now.get(controller) ?? { ready: 0, active: [] };
    const active = [...before.active, ...activeMs.map((ms) => ms / 1000)];
    now.set(controller, { ready: before.ready + ready, active });
  }
  const gauge = (
    name: string,
    help: string,
    value: (of: { ready: number; active: readonly number[] }) => number,
  ): MetricFamily => ({
    ...{ name: `workqueue_${name}`, type: "gauge", help },
    samples: [...now].map(([controller, of]) => ({ labels: labelsOf(controller), value: value(of) })),
  });
  return [
    gauge("depth", "Current depth of workqueue", ({ ready }) => ready),
    gauge(
      "unfinished_work_seconds",
      "How many seconds of work have been done that are in progress and have not been observed by work_duration.",
      ({ active }) => active.reduce((sum, each) => sum + each, 0),
    ),
    gauge(
      "longest_running_processor_seconds",
      "How many seconds the longest running processor for workqueue has been running.",
      ({ active }) => Math.max(0, ...active),
    ),
  ];
}

function samplesOf(labels: Readonly<Record<string, string>>, { counts, seconds }: Durations): MetricSample[] {
  let count = 0;
  const buckets = counts.map((each, index) => {
    count += each;
    return {
      suffix: "_bucket",
      labels: { ...labels, le: String(QUEUE_BOUNDS[index] ?? "+Inf") },
      value: count,
    };
  });
  return [...buckets, { suffix: "_sum", labels, value: seconds }, { suffix: "_count", labels, value: count }];
}
