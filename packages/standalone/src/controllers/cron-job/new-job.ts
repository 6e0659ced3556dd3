import { type CronJob, defined, type Job, type ObjectMeta, ownerReferenceTo } from "@mooring/store";
import { inTimeZone } from "./schedule.ts";

const SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/** One name for each time that is due: a Job that is there already is not made again. */
export function jobNameAt({ metadata }: CronJob, scheduledMs: number): string {
  return `${metadata.name}-${Math.floor(scheduledMs / 60_000)}`;
}

/**
 * The time that a Job's name stands for; milliseconds since the epoch, undefined for a name that this controller has not
 * given.
 */
export function timeInName({ metadata }: CronJob, name: string): number | undefined {
  const minutes = name.startsWith(`${metadata.name}-`) ? name.slice(metadata.name.length + 1) : "";
  return /^\d{1,9}$/.test(minutes) ? Number(minutes) * 60_000 : undefined;
}

/** The Job of one time that is due. */
export function newJob(cronJob: CronJob, scheduledMs: number): Job {
  const { jobTemplate, timeZone } = cronJob.spec ?? {};
  const { labels, annotations } = (jobTemplate?.metadata ?? {}) as Partial<ObjectMeta>;
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      name: jobNameAt(cronJob, scheduledMs),
      namespace: cronJob.metadata.namespace ?? "",
      annotations: { ...annotations, [SCHEDULED]: inTimeZone(scheduledMs, timeZone) },
      ownerReferences: [ownerReferenceTo(cronJob)],
      ...defined({ labels }),
    },
    ...defined({ spec: jobTemplate?.spec }),
  };
}

/** How a status names a Job. */
export function referenceTo({ apiVersion, kind, metadata }: Job) {
  const { name, namespace = "", uid = "" } = metadata;
  return { apiVersion, kind, name, namespace, uid };
}
