import { DONE, defined, isDeleting, wait } from "@mooring/store";
import type { RecurringJobStatus } from "../../../api/recurring-job.ts";
import { expired } from "./retain.ts";
import { beginRun, finishRun, nextTask, skipMoments } from "./run.ts";
import type { JobStep, JobView } from "./view.ts";

const LATE_MS = 60_000;

/** The next step for a job: a run under way first, then what is too old, then what is due. Pure. */
export function decide(view: JobView): JobStep {
  const { job, schedule } = view;
  // Snapshots are data: they outlive their job.
  if (isDeleting(job)) return DONE;
  const { active } = job.status ?? {};
  if (active !== undefined) {
    return nextTask(view, active) ?? { do: "record", what: "run-finished", status: finishRun(view, active) };
  }
  const old = expired(view);
  if (old !== undefined) return { do: "delete-snapshot", snapshot: old };
  if (schedule.due !== undefined) {
    return isToRun(view, schedule.due)
      ? { do: "record", what: "run-begun", status: beginRun(view, schedule.due) }
      : { do: "record", what: "moments-skipped", status: skipMoments(view, schedule.due) };
  }
  return plan(view);
}

function isToRun({ job: { spec }, now }: JobView, due: string): boolean {
  if (spec.suspend === true) return false;
  const lateMs = now.getTime() - Date.parse(due);
  if (lateMs <= LATE_MS) return true;
  const { missedRuns = "RunOnce", startingDeadlineSeconds = 3600 } = spec;
  return missedRuns === "RunOnce" && lateMs <= startingDeadlineSeconds * 1000;
}

/** What the status reports while there is nothing to do, and when to read again. */
function plan({ job, schedule, now }: JobView): JobStep {
  const { status = {}, spec } = job;
  const { nextRun: _, phase: __, conditions: ___, ...rest } = status;
  const { invalid, next, putBackTo } = schedule;
  const idle = spec.suspend === true ? "Suspended" : "Waiting";
  const wanted: RecurringJobStatus = {
    ...rest,
    phase: invalid === undefined ? idle : "Invalid",
    ...(next === undefined || spec.suspend === true ? {} : { nextRun: next }),
    ...defined({ lastScheduleTime: putBackTo ?? status.lastScheduleTime }),
    ...(invalid === undefined ? {} : { conditions: [unreadable(invalid, status, now)] }),
  };
  const recorded =
    status.phase === wanted.phase &&
    status.nextRun === wanted.nextRun &&
    status.conditions?.[0]?.message === invalid &&
    putBackTo === undefined;
  if (!recorded) return { do: "record", what: "plan", status: wanted };
  if (next === undefined) return DONE;
  return wait(Math.max(1, Date.parse(next) - now.getTime()));
}

function unreadable(message: string, { conditions = [] }: RecurringJobStatus, now: Date) {
  const since = conditions[0]?.lastTransitionTime ?? `${now.toISOString().slice(0, 19)}Z`;
  const status = "False" as const;
  return { type: "Scheduled", status, reason: "InvalidSchedule", message, lastTransitionTime: since };
}
