import {
  type CronJob,
  CronJobs,
  type EventRecorder,
  isAlreadyExists,
  isConflict,
  isNotFound,
  isOwnedBy,
  type Job,
  Jobs,
  keyOf,
  type ObjectStore,
  parseKey,
  type WrittenCache,
} from "@mooring/store";
import type { CronJobStep } from "./decide.ts";

/** What the steps are made with. */
export interface CronJobWrites {
  store: ObjectStore;
  cronJobs: WrittenCache<CronJob>;
  jobs: WrittenCache<Job>;
  events: EventRecorder;
  /** By key: what was reported, the last one last. */
  reported: Map<string, readonly string[]>;
}

/** Reports of a CronJob that are remembered; decide no longer asks for older ones. */
const MOST_REPORTED = 100;

/** Makes one step. */
export async function apply(step: CronJobStep, cronJob: CronJob, writes: CronJobWrites): Promise<void> {
  const { store, cronJobs, events, reported } = writes;
  switch (step.do) {
    case "write-status":
      cronJobs.wrote(await store.updateStatus(CronJobs, { ...cronJob, status: step.status }));
      for (const { type, reason, message } of step.events) events.event(cronJob, type, reason, message);
      return;
    case "create-job":
      return create(step.job, cronJob, writes);
    case "delete-job":
      return remove(step.job, cronJob, writes);
    case "report": {
      const { type, reason, message } = step.event;
      events.event(cronJob, type, reason, message);
      const before = reported.get(keyOf(cronJob)) ?? [];
      reported.set(keyOf(cronJob), [...before, step.id].slice(-MOST_REPORTED));
    }
  }
}

async function create(job: Job, cronJob: CronJob, { store, jobs, events }: CronJobWrites): Promise<void> {
  try {
    const { metadata } = jobs.wrote(await store.create(Jobs, job));
    events.event(cronJob, "Normal", "SuccessfulCreate", `Created job ${metadata.name}`);
  } catch (error) {
    const found = isAlreadyExists(error) ? await jobs.refresh(keyOf(job)) : undefined;
    if (found !== undefined && isOwnedBy(found, cronJob.metadata.uid ?? "")) return;
    const message = error instanceof Error ? error.message : String(error);
    events.event(cronJob, "Warning", "FailedCreate", `Error creating job: ${message}`);
    throw error;
  }
}

/** Deletes a Job; its pods follow it. */
async function remove(job: Job, cronJob: CronJob, { store, jobs, events }: CronJobWrites): Promise<void> {
  const { uid = "" } = job.metadata;
  try {
    const options = { propagationPolicy: "Background" as const, preconditions: { uid } };
    jobs.deleted(await store.delete(Jobs, parseKey(keyOf(job)), options));
    events.event(cronJob, "Normal", "SuccessfulDelete", `Deleted job ${job.metadata.name}`);
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
    await jobs.refresh(keyOf(job));
  }
}
