import type { CronJob, Job, ReadContext, WrittenCache } from "@mooring/store";
import type { CronJobView } from "./decide.ts";

interface CronJobReads {
  cronJobs: WrittenCache<CronJob>;
  /** Indexed by `controller`, the UID of the object that manages it. */
  jobs: WrittenCache<Job>;
  /** Milliseconds since the epoch. */
  clock: () => number;
  /** By key: what was reported, the last one last. */
  reported: ReadonlyMap<string, readonly string[]>;
}

/** A CronJob and its Jobs. */
export async function readCronJob(
  key: string,
  { cronJobs, jobs, clock, reported }: CronJobReads,
  { reader, fresh, signal }: ReadContext,
): Promise<CronJobView | undefined> {
  if (fresh) await cronJobs.refresh(key, signal);
  const cronJob = reader.over(cronJobs).get(key);
  if (cronJob === undefined) return undefined;
  const own = reader.over(jobs).byIndex("controller", cronJob.metadata.uid ?? "");
  return { cronJob, jobs: own, now: clock(), reported: reported.get(key) ?? [] };
}
