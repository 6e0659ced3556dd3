import {
  EventRecorder,
  keyOf,
  type Logger,
  type ObjectStore,
  Reconciler,
  source,
  stepFailpoints,
  WrittenCache,
} from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import { jobKeysOf } from "../job-pods.ts";
import type { WorkloadsView } from "../workloads/view.ts";
import { apply } from "./apply.ts";
import { decide, type JobStep } from "./decide.ts";
import { readJob } from "./read.ts";
import type { JobView } from "./view.ts";

const failpoints = stepFailpoints<JobStep>("standalone/job", {
  "release-pods": true,
  "adopt-pods": true,
  "write-status": true,
  "create-pods": true,
  "delete-pods": true,
  "delete-job": true,
});

interface JobControllerOptions {
  store: ObjectStore;
  view: Pick<ClusterView, "pods">;
  workloads: Pick<WorkloadsView, "jobs">;
  logger: Logger;
  signal: AbortSignal;
  /** Milliseconds since the epoch; default `Date.now`. */
  clock?: () => number;
  /** How long a Job waits after failures; default 10 seconds, doubled up to 6 minutes. */
  backoff?: JobView["backoff"];
}

const BACKOFF = { baseMs: 10_000, maxMs: 360_000 };
/** Pods come and go in batches: a Job of thousands needs many. */
const MOST_STEPS = 500;

/** Runs the pods of Jobs to their end and counts them. `done` settles when it has stopped. */
export function startJobController(options: JobControllerOptions): { done: Promise<void> } {
  const { store, view, workloads, logger, signal, clock = Date.now, backoff = BACKOFF } = options;
  const jobs = new WrittenCache(store, workloads.jobs);
  const pods = new WrittenCache(store, view.pods);
  const events = new EventRecorder(store, { component: "job-controller", logger });
  const controller = new Reconciler<JobView, JobStep>({
    ...{ name: "job", store, logger, failpoints, mostSteps: MOST_STEPS },
    sources: [source(workloads.jobs, (job) => [keyOf(job)]), source(view.pods, jobKeysOf)],
    read: (key, context) => readJob(key, { jobs, pods, clock, backoff }, context),
    decide,
    apply: (step, { job }) => apply(step, job, { store, jobs, pods, events }),
  });
  return { done: controller.run(signal).then(() => events.flush()) };
}
