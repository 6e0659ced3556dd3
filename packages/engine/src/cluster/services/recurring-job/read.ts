import { defined, getIfAny, listAll, type Reader } from "@mooring/store";
import { JOB_UID_LABEL } from "../../../api/names.ts";
import { pendingRestore } from "../../../api/pending.ts";
import { type RecurringJob, RecurringJobs } from "../../../api/recurring-job.ts";
import { Snapshots } from "../../../api/snapshot.ts";
import { type Volume, Volumes } from "../../../api/volume.ts";
import type { ServicesContext } from "../context.ts";
import { membersOf } from "./members.ts";
import { expired } from "./retain.ts";
import { scheduleOf } from "./schedule.ts";
import type { JobView } from "./view.ts";

/** Undefined: the job is gone. */
export async function readJob(
  { informers, now: clock, signal }: ServicesContext,
  reader: Reader,
  name: string,
): Promise<JobView | undefined> {
  const { store } = reader;
  const job = await getIfAny(store, RecurringJobs, { name }, signal);
  if (job === undefined) return undefined;
  const now = clock();
  // Read anew: from a cache that lags behind, a snapshot that was just made would be made again.
  const labelSelector = `${JOB_UID_LABEL}=${job.metadata.uid}`;
  const snapshots = (await listAll(store, Snapshots, { labelSelector, signal })).items;
  const volumes = reader.over(informers.volumes, asJobsSeeIt).list();
  const schedule = scheduleOf(job.spec, sinceOf(job), now);
  const view = { job, members: membersOf(job, volumes), snapshots, inUse: sourcesOf(volumes), schedule, now };
  if (expired(view) === undefined) return view;
  // Before one goes, the server itself shows what is being made from it.
  return { ...view, inUse: sourcesOf((await listAll(store, Volumes, { signal })).items) };
}

/** What of a volume a job may depend on: not what changes with every move of it. */
function asJobsSeeIt({ metadata, spec, status, ...volume }: Volume): Volume {
  const { name, uid = "", labels = {}, deletionTimestamp } = metadata;
  const { pool, source, restoreFrom } = spec;
  const { size, restore } = status ?? {};
  const going = defined({ deletionTimestamp });
  return {
    ...volume,
    metadata: { name, uid, labels, ...going },
    spec: { pool, ...(source && { source }), ...(restoreFrom && { restoreFrom }) } as Volume["spec"],
    status: { ...(size !== undefined && { size }), ...(restore && { restore }) } as Volume["status"] & {},
  };
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
