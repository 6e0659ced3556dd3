import { isDeepStrictEqual } from "node:util";
import { type CronJob, DONE, isDeleting, type Job, type Outcome, wait } from "@mooring/store";
import { finishedOf, historyOf } from "./history.ts";
import { jobNameAt, newJob, referenceTo, timeInName } from "./new-job.ts";
import { type Due, dueOf } from "./schedule.ts";

/** The status of a CronJob. */
export type CronJobStatus = NonNullable<CronJob["status"]>;

/** Everything that the next step for a CronJob depends on. */
export interface CronJobView {
  cronJob: CronJob;
  /** Those that it controls. */
  jobs: readonly Job[];
  /** Milliseconds since the epoch. */
  now: number;
  /** What was reported of it, the last one last. */
  reported: readonly string[];
}

/** An event about the CronJob. */
export interface CronJobEvent {
  type: "Normal" | "Warning";
  reason: string;
  message: string;
}

/** One visible change. */
export type CronJobStep =
  | { do: "write-status"; status: CronJobStatus; events: readonly CronJobEvent[] }
  | { do: "create-job"; job: Job }
  | { do: "delete-job"; job: Job }
  /** Once for each time that is due, or Job: `id` is among what the next view has as reported. */
  | { do: "report"; id: string; event: CronJobEvent };

/** A clock that is set, or a machine that has slept, is noticed after this time. */
const LONGEST_WAIT_MS = 60_000;

/** The next thing to do about one CronJob. */
export function decide(view: CronJobView): CronJobStep | Outcome {
  const { cronJob, jobs } = view;
  if (isDeleting(cronJob)) return DONE;
  const seen = seenStatus(view);
  if (!isDeepStrictEqual(seen.status, cronJob.status ?? {})) return { do: "write-status", ...seen };
  const unexpected = reportUnexpected(view);
  if (unexpected !== undefined) return unexpected;
  const [old] = historyOf(cronJob, jobs);
  if (old !== undefined) return { do: "delete-job", job: old };
  return cronJob.spec === undefined || cronJob.spec.suspend === true ? DONE : start(view, cronJob.spec);
}

/** What has become of the Jobs that the status names. */
function seenStatus({ cronJob, jobs }: CronJobView): { status: CronJobStatus; events: CronJobEvent[] } {
  const { active: listed = [], ...old } = cronJob.status ?? {};
  const events: CronJobEvent[] = [];
  const active = listed.filter(({ uid }) => {
    const job = jobs.find(({ metadata }) => metadata.uid === uid);
    const end = job && finishedOf(job);
    if (job !== undefined && end !== undefined) {
      const message = `Saw completed job: ${job.metadata.name}, condition: ${end}`;
      events.push({ type: "Normal", reason: "SawCompletedJob", message });
    }
    return job !== undefined && end === undefined;
  });
  for (const { uid, name } of listed) {
    if (jobs.some(({ metadata }) => metadata.uid === uid)) continue;
    const message = `Active job went missing: ${name}`;
    events.push({ type: "Normal", reason: "MissingJob", message });
  }
  const successes = jobs.flatMap((job) =>
    finishedOf(job) === "Complete" ? (job.status?.completionTime ?? []) : [],
  );
  const last = [...successes, ...(old.lastSuccessfulTime === undefined ? [] : [old.lastSuccessfulTime])]
    .sort((a, b) => Date.parse(a) - Date.parse(b))
    .at(-1);
  const status: CronJobStatus = { ...old };
  if (active.length > 0) status.active = active;
  if (last !== undefined) status.lastSuccessfulTime = last;
  return { status, events };
}

/** A Job that is its own and runs, and that neither its status nor its schedule names. */
function reportUnexpected({ cronJob, jobs, reported }: CronJobView): CronJobStep | undefined {
  const { active = [] } = cronJob.status ?? {};
  const found = jobs.find((job) => {
    const { uid = "", name } = job.metadata;
    const isKnown = active.some((each) => each.uid === uid) || reported.includes(`UnexpectedJob ${uid}`);
    // One that was made just now is about to be listed.
    return (
      !isKnown && finishedOf(job) === undefined && !((timeInName(cronJob, name) ?? 0) > sinceOf(cronJob))
    );
  });
  if (found === undefined) return undefined;
  const message = `Saw a job that the controller did not create or forgot: ${found.metadata.name}`;
  const event: CronJobEvent = { type: "Warning", reason: "UnexpectedJob", message };
  return { do: "report", id: `UnexpectedJob ${found.metadata.uid}`, event };
}

/** Times up to here are dealt with; milliseconds since the epoch. */
function sinceOf({ metadata, status }: CronJob): number {
  return Date.parse(status?.lastScheduleTime ?? metadata.creationTimestamp ?? "");
}

function start(view: CronJobView, spec: NonNullable<CronJob["spec"]>): CronJobStep | Outcome {
  const { cronJob, jobs, now, reported } = view;
  const { active = [] } = cronJob.status ?? {};
  const sinceMs = sinceOf(cronJob);
  const deadlineMs = now - (spec.startingDeadlineSeconds ?? Number.POSITIVE_INFINITY) * 1000;
  const due = dueOf(spec, Math.max(sinceMs, deadlineMs), now);
  if (due.putBackToMs !== undefined) return putBack(cronJob, due.putBackToMs);
  const report = (event: CronJobEvent, ms = due.scheduledMs): CronJobStep | undefined => {
    const id = `${event.reason} ${ms}`;
    return reported.includes(id) ? undefined : { do: "report", id, event };
  };
  if (due.scheduledMs === undefined) {
    const late = deadlineMs > sinceMs ? dueOf(spec, sinceMs, now).scheduledMs : undefined;
    return (late === undefined ? undefined : report(missed(late), late)) ?? untilNext(due, now);
  }
  const isMade = jobs.find(({ metadata }) => metadata.name === jobNameAt(cronJob, due.scheduledMs ?? 0));
  if (isMade !== undefined) return begun(cronJob, isMade, due.scheduledMs);
  if (due.tooManyMissed && lastReason(reported) !== "JobAlreadyActive") {
    const step = report(TOO_MANY);
    if (step !== undefined) return step;
  }
  if (spec.concurrencyPolicy === "Forbid" && active.length > 0)
    return report(STILL_ACTIVE) ?? untilNext(due, now);
  if (spec.concurrencyPolicy === "Replace") {
    const running = jobs.find(
      (job) => active.some(({ uid }) => uid === job.metadata.uid) && !isDeleting(job),
    );
    if (running !== undefined) return { do: "delete-job", job: running };
  }
  return { do: "create-job", job: newJob(cronJob, due.scheduledMs) };
}

const TOO_MANY: CronJobEvent = {
  type: "Warning",
  reason: "TooManyMissedTimes",
  message: "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew",
};
const STILL_ACTIVE: CronJobEvent = {
  type: "Normal",
  reason: "JobAlreadyActive",
  message: "Not starting job because prior execution is running and concurrency policy is Forbid",
};

const missed = (ms: number): CronJobEvent => ({
  type: "Warning",
  reason: "MissSchedule",
  message: `Missed scheduled time to start a job: ${new Date(ms).toUTCString().replace("GMT", "+0000")}`,
});

/** The reason of the last event about its starts. */
function lastReason(reported: readonly string[]): string | undefined {
  return reported.findLast((id) => !id.startsWith("UnexpectedJob"))?.split(" ")[0];
}

/** The Job is there; an earlier life may have made it. */
function begun(cronJob: CronJob, job: Job, scheduledMs: number): CronJobStep {
  const { active = [], ...old } = cronJob.status ?? {};
  const listed = active.some(({ uid }) => uid === job.metadata.uid);
  const runs = finishedOf(job) === undefined;
  const next = runs && !listed ? [...active, referenceTo(job)] : active;
  const lastScheduleTime = `${new Date(scheduledMs).toISOString().slice(0, 19)}Z`;
  const status = { ...old, lastScheduleTime, ...(next.length > 0 ? { active: next } : {}) };
  return { do: "write-status", status, events: [] };
}

/**
 * Takes back a last start that is in the future, as after the clock was set back: else no Job would be made until the clock
 * is where it was.
 */
function putBack({ status }: CronJob, ms: number): CronJobStep {
  const lastScheduleTime = `${new Date(ms).toISOString().slice(0, 19)}Z`;
  return { do: "write-status", status: { ...status, lastScheduleTime }, events: [] };
}

function untilNext({ nextMs }: Due, now: number): Outcome {
  return nextMs === undefined ? wait() : wait(Math.min(Math.max(1, nextMs - now), LONGEST_WAIT_MS));
}
