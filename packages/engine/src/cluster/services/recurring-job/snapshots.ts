import { createHash } from "node:crypto";
import { JOB_UID_LABEL, MOORING_API_VERSION } from "../../../api/names.ts";
import type { RecurringJob } from "../../../api/recurring-job.ts";
import type { Snapshot } from "../../../api/snapshot.ts";
import type { Volume } from "../../../api/volume.ts";

const JOB_ANNOTATION = "storage.mooring.dev/recurring-job";
const SCHEDULED_AT_ANNOTATION = "storage.mooring.dev/scheduled-at";
const CREATED_AT_ANNOTATION = "storage.mooring.dev/created-at";

/** One name per job, moment and volume: a run that is begun again after a kill finds what it made before. */
export function snapshotNameFor(job: RecurringJob, scheduledAt: string, volume: string): string {
  const identity = [job.metadata.uid ?? "", scheduledAt, volume].join("\n");
  return `s-${createHash("sha256").update(identity).digest("hex").slice(0, 32)}`;
}

/** The snapshot that a run makes of one volume; its name follows from job, moment and volume. */
export function snapshotFor(job: RecurringJob, scheduledAt: string, volume: Volume, now: Date): Snapshot {
  return {
    apiVersion: MOORING_API_VERSION,
    kind: "Snapshot",
    metadata: {
      name: snapshotNameFor(job, scheduledAt, volume.metadata.name),
      labels: { ...job.spec.labels, [JOB_UID_LABEL]: job.metadata.uid ?? "" },
      annotations: {
        [JOB_ANNOTATION]: job.metadata.name,
        [SCHEDULED_AT_ANNOTATION]: scheduledAt,
        [CREATED_AT_ANNOTATION]: now.toISOString(),
      },
    },
    spec: { volume: volume.metadata.name, pool: volume.spec.pool },
  };
}
