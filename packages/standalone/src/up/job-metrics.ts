import type { MetricFamily, MetricSample } from "@mooring/csi";
import type { RecurringJob } from "@mooring/engine";

/** What recurring jobs have done, and when one last did all of its work. */
export function jobMetrics(jobs: readonly RecurringJob[]): MetricFamily[] {
  const family = (
    type: "counter" | "gauge",
    { name, help }: { name: string; help: string },
    value: (job: RecurringJob) => number | undefined,
  ): MetricFamily => ({
    ...{ name: `mooring_recurring_job_${name}`, help, type },
    samples: jobs.flatMap((job): MetricSample[] => {
      const number = value(job);
      return number === undefined ? [] : [{ labels: { job: job.metadata.name }, value: number }];
    }),
  });
  return [
    family(
      "counter",
      { name: "runs_total", help: "Runs that were begun." },
      ({ status }) => status?.runs ?? 0,
    ),
    family(
      "counter",
      { name: "failures_total", help: "Runs in which the snapshot of some volume failed." },
      ({ status }) => status?.failures ?? 0,
    ),
    family(
      "counter",
      { name: "skipped_total", help: "Moments of the schedule that no run was begun for." },
      ({ status }) => status?.skipped ?? 0,
    ),
    family(
      "gauge",
      {
        name: "last_success_timestamp_seconds",
        help: "When a run last ended with a snapshot of every volume.",
      },
      ({ status }) => seconds(status?.lastSuccessfulTime),
    ),
    family("gauge", { name: "next_run_timestamp_seconds", help: "When the next run is due." }, ({ status }) =>
      seconds(status?.nextRun),
    ),
  ];
}

function seconds(time: string | undefined): number | undefined {
  return time === undefined ? undefined : Date.parse(time) / 1000;
}
