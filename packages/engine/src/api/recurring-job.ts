import { type Condition, defineResource, type KubeObject, type LabelSelector } from "@mooring/store";
import { MOORING_GROUP, MOORING_VERSION } from "./names.ts";

/** Label of a Volume that takes part in one job: `<prefix><job>: enabled`. */
export const JOB_LABEL_PREFIX = `recurring-job.${MOORING_GROUP}/`;
/** Label of a Volume that takes part in all jobs of a group: `<prefix><group>: enabled`. */
export const GROUP_LABEL_PREFIX = `recurring-job-group.${MOORING_GROUP}/`;
/** The group that volumes without any such label are in. */
export const DEFAULT_GROUP = "default";

/** Snapshots by the clock. Cluster scoped. */
export interface RecurringJob extends KubeObject {
  spec: RecurringJobSpec;
  status?: RecurringJobStatus;
}

/** When snapshots are taken, of which volumes, and how many are kept. */
export interface RecurringJobSpec {
  /** Five or six fields, or a nickname such as `@daily`. */
  cron: string;
  /** IANA name; default UTC. */
  timeZone?: string;
  task: "snapshot";
  /** Snapshots of this job that are kept, per volume. */
  retain: number;
  /** Groups of volumes that it works on. */
  groups?: string[];
  /** Volumes with these labels as well. */
  volumeSelector?: LabelSelector;
  /** Snapshots that are made at the same time; default 1. */
  concurrency?: number;
  /** No new run begins; one under way ends. */
  suspend?: boolean;
  /** Of the runs that were missed: `RunOnce` makes up the latest, `Skip` none. Default `RunOnce`. */
  missedRuns?: "RunOnce" | "Skip";
  /** A missed run that is older than this is not made up; default 3,600. */
  startingDeadlineSeconds?: number;
  /** A snapshot that is not made after this has failed; default 600. */
  deadlineSeconds?: number;
  /** Labels that the snapshots get. */
  labels?: Record<string, string>;
}

/** One volume in a run. */
export interface JobTask {
  volume: string;
  snapshot: string;
  state: "Pending" | "Creating" | "Ready" | "Failed";
  startedAt?: string;
  message?: string;
}

/** One run of a job, for one moment of its schedule. Times are RFC 3339. */
export interface JobRun {
  /** The moment of the schedule that the run is for. */
  scheduledAt: string;
  startedAt: string;
  finishedAt?: string;
  tasks: JobTask[];
}

/** What a job has done, and when its next moment is. */
export interface RecurringJobStatus {
  phase?: "Waiting" | "Running" | "Suspended" | "Invalid";
  /** Moments of the schedule up to here are dealt with: run, or skipped. */
  lastScheduleTime?: string;
  nextRun?: string;
  active?: JobRun;
  lastRun?: JobRun & { succeeded: number; failed: number };
  /** When a run last ended with a snapshot of every volume. */
  lastSuccessfulTime?: string;
  /** Runs that were begun. */
  runs?: number;
  /** Runs in which some volume failed. */
  failures?: number;
  /** Moments of the schedule that no run was begun for. */
  skipped?: number;
  conditions?: Condition[];
}

/** Served at `/apis/storage.mooring.dev/v1alpha1/recurringjobs`. */
export const RecurringJobs = defineResource<RecurringJob>({
  group: MOORING_GROUP,
  version: MOORING_VERSION,
  kind: "RecurringJob",
  plural: "recurringjobs",
  namespaced: false,
});
