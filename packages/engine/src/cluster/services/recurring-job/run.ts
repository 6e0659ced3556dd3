import { wait } from "@mooring/store";
import type { JobRun, JobTask, RecurringJobStatus } from "../../../api/recurring-job.ts";
import { snapshotNameFor } from "./snapshots.ts";
import type { JobStep, JobView } from "./view.ts";

/** Failures that trying again does not repair. */
const FINAL: ReadonlySet<string> = new Set(["INVALID_ARGUMENT", "NOT_FOUND", "DATA_LOSS"]);
const DEFAULT_DEADLINE_S = 600;

/** The moment is written down with the run, so that it is never run twice, whatever happens in between. */
export function beginRun({ job, members, schedule, now }: JobView, due: string): RecurringJobStatus {
  const { status = {} } = job;
  const tasks = members.map(({ metadata: { name } }): JobTask => {
    return { volume: name, snapshot: snapshotNameFor(job, due, name), state: "Pending" };
  });
  return {
    ...status,
    phase: "Running",
    lastScheduleTime: due,
    active: { scheduledAt: due, startedAt: now.toISOString(), tasks },
    runs: (status.runs ?? 0) + 1,
    skipped: (status.skipped ?? 0) + schedule.missed - 1,
  };
}

/** The status after moments up to `due` for which no run is begun: all of them count as skipped. */
export function skipMoments({ job: { status = {} }, schedule }: JobView, due: string): RecurringJobStatus {
  return { ...status, lastScheduleTime: due, skipped: (status.skipped ?? 0) + schedule.missed };
}

/** The status after a run whose tasks have all ended. */
export function finishRun({ job: { status = {} }, now }: JobView, run: JobRun): RecurringJobStatus {
  const { active: _, ...rest } = status;
  const failed = run.tasks.filter(({ state }) => state === "Failed").length;
  const finishedAt = now.toISOString();
  return {
    ...rest,
    phase: "Waiting",
    lastRun: { ...run, finishedAt, succeeded: run.tasks.length - failed, failed },
    ...(failed > 0 ? {} : { lastSuccessfulTime: finishedAt }),
    failures: (status.failures ?? 0) + (failed > 0 ? 1 : 0),
  };
}

/** The next step of a run; undefined when every task has ended. */
export function nextTask(view: JobView, run: JobRun): JobStep | undefined {
  const { job, now } = view;
  const creating = run.tasks.filter(({ state }) => state === "Creating");
  for (const task of creating) {
    const step = progress(view, run, task);
    if (step !== undefined) return step;
  }
  const pending = run.tasks.find(({ state }) => state === "Pending");
  if (pending !== undefined && creating.length < (job.spec.concurrency ?? 1)) {
    return record(view, run, { ...pending, state: "Creating", startedAt: now.toISOString() });
  }
  if (creating.length === 0) return undefined;
  const waits = creating.map((task) => deadlineOf(view, task) - now.getTime());
  return wait(Math.max(1, Math.min(...waits)));
}

function progress(view: JobView, run: JobRun, task: JobTask): JobStep | undefined {
  const snapshot = view.snapshots.find(({ metadata }) => metadata.name === task.snapshot);
  const fail = (message: string) => record(view, run, { ...task, state: "Failed", message });
  if (snapshot === undefined) {
    const there = view.members.some(({ metadata }) => metadata.name === task.volume);
    if (!there) return fail(`volume ${task.volume} does not take part any more`);
    return view.now.getTime() >= deadlineOf(view, task)
      ? fail("the snapshot was taken away before it was made")
      : { do: "create-snapshot", volume: task.volume };
  }
  const { readyToUse = false, error } = snapshot.status ?? {};
  if (readyToUse) return record(view, run, { ...task, state: "Ready" });
  const why = error === undefined ? "no node could make it" : `${error.code}: ${error.message}`;
  if (FINAL.has(error?.code ?? "")) return fail(why);
  return view.now.getTime() >= deadlineOf(view, task) ? fail(`not made in time: ${why}`) : undefined;
}

function deadlineOf({ job, now }: JobView, { startedAt }: JobTask): number {
  const seconds = job.spec.deadlineSeconds ?? DEFAULT_DEADLINE_S;
  return (startedAt === undefined ? now.getTime() : Date.parse(startedAt)) + seconds * 1000;
}

function record({ job: { status = {} } }: JobView, run: JobRun, next: JobTask): JobStep {
  const tasks = run.tasks.map((task) => (task.volume === next.volume ? next : task));
  return { do: "record", what: "task", status: { ...status, active: { ...run, tasks } } };
}
