import {
  createInformer,
  EventRecorder,
  Jobs,
  keyOf,
  type Logger,
  type ObjectStore,
  Reconciler,
  source,
  WrittenCache,
} from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import { jobKeysOf } from "../job-pods.ts";
import { apply } from "./apply.ts";
import { decide, type JobStep } from "./decide.ts";
import { readJob } from "./read.ts";
import type { JobView } from "./view.ts";

interface JobControllerOptions {
  store: ObjectStore;
  view: Pick<ClusterView, "pods">;
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
export async function startJobController(options: JobControllerOptions): Promise<{ done: Promise<void> }> {
  const { store, view, logger, signal, clock = Date.now, backoff = BACKOFF } = options;
  const informer = createInformer(store, Jobs, { logger });
  const running = informer.run(signal);
  const jobs = new WrittenCache(store, informer);
  const pods = new WrittenCache(store, view.pods);
  const events = new EventRecorder(store, { component: "job-controller", logger });
  const controller = new Reconciler<JobView, JobStep>({
    ...{ name: "job", store, logger, mostSteps: MOST_STEPS },
    sources: [source(informer, (job) => [keyOf(job)]), source(view.pods, jobKeysOf)],
    read: (key, context) => readJob(key, { jobs, pods, clock, backoff }, context),
    decide,
    apply: (step, { job }) => apply(step, job, { store, jobs, pods, events }),
  }).run(signal);
  await informer.synced(signal);
  return { done: Promise.all([controller, running]).then(() => events.flush()) };
}
