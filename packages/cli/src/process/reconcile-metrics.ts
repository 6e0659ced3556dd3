import type { MetricFamily } from "@mooring/csi";
import { type ReconcileCounts, reconcileCounts } from "@mooring/store";

const FAMILIES: readonly [of: keyof ReconcileCounts, name: string, help: string][] = [
  ["reconciled", "mooring_reconcile_total", "Keys that a controller has taken to an end."],
  ["steps", "mooring_reconcile_steps_total", "Changes that a controller has made."],
  ["conflicts", "mooring_reconcile_conflicts_total", "Changes that met an outdated picture."],
  ["failures", "mooring_reconcile_errors_total", "Keys that a controller has had to try again."],
  [
    "resyncFound",
    "mooring_reconcile_resync_found_total",
    "Work that a resync found and no event had asked for. Anything but 0 is a defect.",
  ],
  [
    "endless",
    "mooring_reconcile_endless_total",
    "Keys whose steps came to no end; the log names the last of them. Anything but 0 is a defect.",
  ],
];

/** What the controllers of this process have done, by controller. */
export function reconcileMetrics(): MetricFamily[] {
  const counts = [...reconcileCounts()];
  return FAMILIES.map(([of, name, help]) => ({
    ...{ name, help, type: "counter" },
    samples: counts.map(([controller, each]) => ({ labels: { controller }, value: each[of] })),
  }));
}
