import { type CronJob, isDeleting, type Job } from "@mooring/store";

/** How a Job has ended; undefined: it runs. */
export function finishedOf({ status }: Job): "Complete" | "Failed" | undefined {
  const ended = (type: string) =>
    status?.conditions?.some((condition) => condition.type === type && condition.status === "True");
  if (ended("Complete") === true) return "Complete";
  return ended("Failed") === true ? "Failed" : undefined;
}

/** The finished Jobs beyond those that are kept, the oldest first. */
export function historyOf({ spec }: CronJob, jobs: readonly Job[]): Job[] {
  const { successfulJobsHistoryLimit = 3, failedJobsHistoryLimit = 1 } = spec ?? {};
  return [
    ...beyond(successfulJobsHistoryLimit, jobs, "Complete"),
    ...beyond(failedJobsHistoryLimit, jobs, "Failed"),
  ];
}

function beyond(limit: number, jobs: readonly Job[], end: string): Job[] {
  const ended = jobs.filter((job) => finishedOf(job) === end && !isDeleting(job));
  const sorted = ended.sort((a, b) => began(a) - began(b) || (a.metadata.name < b.metadata.name ? -1 : 1));
  return sorted.slice(0, Math.max(0, sorted.length - limit));
}

function began({ metadata, status }: Job): number {
  return Date.parse(status?.startTime ?? metadata.creationTimestamp ?? "");
}
