import { type Outcome, Reconciler, source, stepFailpoints } from "@mooring/store";
import { failure } from "../../../refused.ts";
import type { ServicesContext } from "../context.ts";
import { applyJobStep } from "./apply.ts";
import { decide } from "./decide.ts";
import { readJob } from "./read.ts";
import type { JobStep, JobView } from "./view.ts";

const failpoints = stepFailpoints<Exclude<JobStep, Outcome>>("engine/services/recurring-job", {
  record: { "run-begun": true, task: true, "run-finished": true, "moments-skipped": true, plan: true },
  "create-snapshot": true,
  "delete-snapshot": true,
});

/**
 * Makes snapshots by the clock, and removes the old ones that it made. `attach-for-snapshot` writes the tickets that they
 * need.
 */
export function runRecurringJobs(context: ServicesContext): Promise<void> {
  const { jobs, snapshots, volumes } = context.informers;
  return new Reconciler<JobView, JobStep>({
    name: "recurring-job",
    store: context.store,
    logger: context.logger,
    backoff: { maxMs: 10_000 },
    sources: [source(jobs, ({ metadata }) => [metadata.name])],
    watched: [snapshots, volumes],
    read: (name, { reader }) => readJob(context, reader, name),
    decide,
    apply: (step, view) => applyJobStep(context, step, view),
    failpoints,
    errorOf: failure,
    // A few for each volume.
    mostSteps: 10_000,
  }).run(context.signal);
}
