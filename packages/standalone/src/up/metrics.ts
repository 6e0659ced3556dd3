import type { MetricFamily } from "@mooring/csi";
import { Pools, RecurringJobs, Snapshots } from "@mooring/engine";
import { createInformer, openInformers } from "@mooring/store";
import { jobMetrics } from "./job-metrics.ts";
import { poolMetrics } from "./pool-metrics.ts";
import { SnapshotMetrics } from "./snapshot-metrics.ts";
import type { Starting } from "./starting.ts";

/** Watches what `/metrics` reports of the engine's objects; the result is for each scrape. */
export async function startMetrics({
  store,
  parts,
  logger,
}: Pick<Starting, "store" | "parts" | "logger">): Promise<() => MetricFamily[]> {
  const pools = createInformer(store, Pools, { logger });
  const jobs = createInformer(store, RecurringJobs, { logger });
  const snapshots = createInformer(store, Snapshots, { logger });
  const made = new SnapshotMetrics();
  snapshots.onChange((old, current) => made.changed(old, current));
  await parts.start("metrics", (signal) => openInformers([pools, jobs, snapshots], signal));
  return () => [...poolMetrics(pools.list()), ...jobMetrics(jobs.list()), ...made.families(snapshots.list())];
}
