import {
  CronJobs,
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
import { apply } from "./apply.ts";
import { type CronJobStep, type CronJobView, decide } from "./decide.ts";
import { readCronJob } from "./read.ts";

interface CronJobControllerOptions {
  store: ObjectStore;
  logger: Logger;
  signal: AbortSignal;
  /** Milliseconds since the epoch; default `Date.now`. */
  clock?: () => number;
}

/** Makes Jobs by the clock. `done` settles when it has stopped. */
export async function startCronJobController(
  options: CronJobControllerOptions,
): Promise<{ done: Promise<void> }> {
  const { store, logger, signal, clock = Date.now } = options;
  const ofCronJobs = createInformer(store, CronJobs, { logger });
  const ofJobs = createInformer(store, Jobs, {
    indexers: {
      controller: ({ metadata }) =>
        (metadata.ownerReferences ?? []).flatMap(({ controller, uid }) => (controller === true ? [uid] : [])),
    },
    logger,
  });
  const running = [ofCronJobs.run(signal), ofJobs.run(signal)];
  const cronJobs = new WrittenCache(store, ofCronJobs);
  const jobs = new WrittenCache(store, ofJobs);
  const events = new EventRecorder(store, { component: "cronjob-controller", logger });
  const reported = new Map<string, string>();
  const controller = new Reconciler<CronJobView, CronJobStep>({
    ...{ name: "cron-job", store, logger },
    sources: [source(ofCronJobs, (cronJob) => [keyOf(cronJob)])],
    watched: [ofJobs],
    read: (key, context) => readCronJob(key, { cronJobs, jobs, clock, reported }, context),
    decide,
    apply: (step, { cronJob }) => apply(step, cronJob, { store, cronJobs, jobs, events, reported }),
    ended: async (key) => {
      if (cronJobs.get(key) === undefined) reported.delete(key);
    },
  }).run(signal);
  await Promise.all([ofCronJobs.synced(signal), ofJobs.synced(signal)]);
  return { done: Promise.all([controller, ...running]).then(() => events.flush()) };
}
