import {
  CronJobs,
  createInformer,
  EventRecorder,
  keyOf,
  type Logger,
  type ObjectStore,
  Reconciler,
  source,
  stepFailpoints,
  WrittenCache,
} from "@mooring/store";
import type { WorkloadsView } from "../workloads/view.ts";
import { apply } from "./apply.ts";
import { type CronJobStep, type CronJobView, decide } from "./decide.ts";
import { readCronJob } from "./read.ts";

const failpoints = stepFailpoints<CronJobStep>("standalone/cron-job", {
  "write-status": true,
  "create-job": true,
  "delete-job": true,
  report: true,
});

interface CronJobControllerOptions {
  store: ObjectStore;
  workloads: Pick<WorkloadsView, "jobs">;
  logger: Logger;
  signal: AbortSignal;
  /** Milliseconds since the epoch; default `Date.now`. */
  clock?: () => number;
}

/** Makes Jobs by the clock. `done` settles when it has stopped. */
export async function startCronJobController(
  options: CronJobControllerOptions,
): Promise<{ done: Promise<void> }> {
  const { store, workloads, logger, signal, clock = Date.now } = options;
  const informer = createInformer(store, CronJobs, { logger });
  const running = informer.run(signal);
  const cronJobs = new WrittenCache(store, informer);
  const jobs = new WrittenCache(store, workloads.jobs);
  const events = new EventRecorder(store, { component: "cronjob-controller", logger });
  const reported = new Map<string, readonly string[]>();
  const controller = new Reconciler<CronJobView, CronJobStep>({
    ...{ name: "cron-job", store, logger, failpoints },
    sources: [source(informer, (cronJob) => [keyOf(cronJob)])],
    watched: [workloads.jobs],
    read: (key, context) => readCronJob(key, { cronJobs, jobs, clock, reported }, context),
    decide,
    apply: (step, { cronJob }) => apply(step, cronJob, { store, cronJobs, jobs, events, reported }),
    ended: async (key) => {
      if (cronJobs.get(key) === undefined) reported.delete(key);
    },
  }).run(signal);
  await informer.synced(signal);
  return { done: Promise.all([controller, running]).then(() => events.flush()) };
}
