import { getIfAny, listAll, runController, source, WorkQueue } from "@mooring/store";
import { JOB_UID_LABEL } from "../../../api/names.ts";
import { pendingRestore } from "../../../api/pending.ts";
import { type RecurringJob, RecurringJobs } from "../../../api/recurring-job.ts";
import { Snapshots } from "../../../api/snapshot.ts";
import { type Volume, Volumes } from "../../../api/volume.ts";
import { converge } from "../../../converge.ts";
import type { ServicesContext } from "../context.ts";
import { applyJobStep } from "./apply.ts";
import { decide, type JobView } from "./decide.ts";
import { membersOf } from "./members.ts";
import { scheduleOf } from "./schedule.ts";
import { JOB_ANNOTATION } from "./snapshots.ts";

/** Makes snapshots by the clock, and removes the old ones that it made. Tickets are the snapshots' own affair. */
export function runRecurringJobs(context: ServicesContext): Promise<void> {
  const { jobs, snapshots } = context.informers;
  return runController(
    {
      name: "recurring-jobs",
      logger: context.logger,
      queue: new WorkQueue({ maxMs: 10_000 }),
      sources: [
        source(jobs, ({ metadata }) => [metadata.name]),
        source(snapshots, ({ metadata }) => {
          const job = metadata.annotations?.[JOB_ANNOTATION];
          return job === undefined ? [] : [job];
        }),
      ],
      reconcile: (name) =>
        converge({
          read: () => read(context, name),
          decide: (view: JobView) => decide(view),
          apply: (step, view) => applyJobStep(context, step, view),
          // A few for each volume.
          mostSteps: 10_000,
        }),
    },
    context.signal,
  );
}

async function read(context: ServicesContext, name: string): Promise<JobView | undefined> {
  const { store, signal, now: clock } = context;
  const job = await getIfAny(store, RecurringJobs, { name }, signal);
  if (job === undefined) return undefined;
  const now = clock();
  // Read anew: from a cache that lags behind, a snapshot that was just made would be made again.
  const labelSelector = `${JOB_UID_LABEL}=${job.metadata.uid}`;
  const snapshots = (await listAll(store, Snapshots, { labelSelector, signal })).items;
  const volumes = (await listAll(store, Volumes, { signal })).items;
  const schedule = scheduleOf(job.spec, sinceOf(job), now);
  return { job, members: membersOf(job, volumes), snapshots, inUse: sourcesOf(volumes), schedule, now };
}

/** Moments before the job was made do not count. */
function sinceOf({ metadata, status }: RecurringJob): Date {
  return new Date(status?.lastScheduleTime ?? metadata.creationTimestamp ?? 0);
}

function sourcesOf(volumes: readonly Volume[]): Set<string> {
  const copied = volumes.flatMap(({ spec, status }) =>
    spec.source?.kind === "Snapshot" && status?.size === undefined ? [spec.source.name] : [],
  );
  return new Set([...copied, ...volumes.flatMap((volume) => pendingRestore(volume)?.snapshot ?? [])]);
}
