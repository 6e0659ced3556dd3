import { defined, type Job } from "@mooring/store";
import { formatIndexes, parseIndexes } from "./indexes.ts";
import type { JobPod } from "./job-pod.ts";
import type { JobView } from "./view.ts";

/** The status of a Job. */
export type JobStatus = NonNullable<Job["status"]>;
type JobCondition = NonNullable<JobStatus["conditions"]>[number];

/** What is reported when a status is written. */
export interface JobEvent {
  type: "Normal" | "Warning";
  reason: string;
  message: string;
}

interface Ended {
  reason: string;
  message: string;
}

const LIMIT: Ended = {
  reason: "BackoffLimitExceeded",
  message: "Job has reached the specified backoff limit",
};
const DEADLINE: Ended = {
  reason: "DeadlineExceeded",
  message: "Job was active longer than specified deadline",
};
const REACHED: Ended = { reason: "CompletionsReached", message: "Reached expected number of succeeded pods" };

/** The condition, when it is true. */
export function trueCondition(status: JobStatus | undefined, type: string): JobCondition | undefined {
  return status?.conditions?.find((condition) => condition.type === type && condition.status === "True");
}

/** Complete or Failed: nothing follows but the deletion. */
export function finishedCondition(status: JobStatus | undefined): JobCondition | undefined {
  return trueCondition(status, "Complete") ?? trueCondition(status, "Failed");
}

/** The end is decided; its pods have to go and be counted first. */
export function targetCondition(status: JobStatus | undefined): JobCondition | undefined {
  return trueCondition(status, "FailureTarget") ?? trueCondition(status, "SuccessCriteriaMet");
}

/** Of an Indexed Job: how many parts there are. */
export function indexCount({ spec }: Job): number | undefined {
  return spec?.completionMode === "Indexed" ? (spec.completions ?? 0) : undefined;
}

/** The pod has ended without success, as far as the Job waits for it. */
function isFailed(pod: JobPod, job: Job): boolean {
  if (pod.state === "failed" || pod.state === "abandoned") return true;
  if (pod.state !== "terminating") return false;
  return (
    job.spec?.podReplacementPolicy !== "Failed" || trueCondition(job.status, "FailureTarget") !== undefined
  );
}

/** Whether a pod's end is in the status, or does not count: its finalizer is of no more use. The status is read once for all pods. */
export function isRecorded(job: Job): (pod: JobPod) => boolean {
  const { succeeded = [], failed = [] } = job.status?.uncountedTerminatedPods ?? {};
  const uncounted = new Set([...succeeded, ...failed]);
  const count = indexCount(job);
  const completed = parseIndexes(job.status?.completedIndexes, count ?? 0);
  return (pod) => {
    if (uncounted.has(pod.uid)) return true;
    const hasEnded = pod.state === "succeeded" || isFailed(pod, job);
    if (count === undefined || !hasEnded) return false;
    const { index = count } = pod;
    if (index >= count) return true;
    return pod.state === "succeeded" && completed.has(index);
  };
}

/** The counts with what the pods show. A pod is counted when its UID is in the status and its finalizer is gone. */
function counted(job: Job, pods: readonly JobPod[]) {
  const { uncountedTerminatedPods = {}, ...old } = job.status ?? {};
  const tracked = pods.filter((pod) => pod.tracked);
  const uids = new Set(tracked.map(({ uid }) => uid));
  const before = {
    succeeded: uncountedTerminatedPods.succeeded ?? [],
    failed: uncountedTerminatedPods.failed ?? [],
  };
  const known = new Set([...before.succeeded, ...before.failed]);
  const count = indexCount(job);
  const completed = parseIndexes(old.completedIndexes, count ?? 0);
  const uncounted = {
    succeeded: before.succeeded.filter((uid) => uids.has(uid)),
    failed: before.failed.filter((uid) => uids.has(uid)),
  };
  let succeeded = (old.succeeded ?? 0) + before.succeeded.length - uncounted.succeeded.length;
  const failed = (old.failed ?? 0) + before.failed.length - uncounted.failed.length;
  for (const pod of tracked.filter(({ uid }) => !known.has(uid))) {
    const counts = count === undefined || (pod.index !== undefined && pod.index < count);
    if (!counts) continue;
    if (pod.state === "succeeded" && count !== undefined) completed.add(pod.index ?? 0);
    else if (pod.state === "succeeded") uncounted.succeeded.push(pod.uid);
    else if (isFailed(pod, job)) uncounted.failed.push(pod.uid);
  }
  if (count !== undefined) succeeded = completed.size;
  const completedIndexes = formatIndexes(completed) || undefined;
  return { succeeded, failed, uncounted, completedIndexes };
}

/** The status that the Job should have now, and what to report of the change. */
export function nextStatus({ job, pods, now }: JobView & { job: Job }): {
  status: JobStatus;
  events: JobEvent[];
} {
  const old = job.status ?? {};
  const { succeeded, failed, uncounted, completedIndexes } = counted(job, pods);
  const active = pods.filter(({ state }) => state === "active");
  const terminating = pods.filter(({ state }) => state === "terminating").length;
  const { startTime, completionTime, conditions } = old;
  // As upstream writes it: without the counts that are zero, but for those two.
  const status: JobStatus = {
    ready: active.filter(({ ready }) => ready).length,
    terminating,
    ...defined({ startTime, completionTime, conditions, completedIndexes }),
    ...defined({ active: active.length || undefined }),
    ...defined({ succeeded: succeeded || undefined, failed: failed || undefined }),
  };
  const waiting = Object.entries(uncounted).filter(([, uids]) => uids.length > 0);
  if (waiting.length > 0) status.uncountedTerminatedPods = Object.fromEntries(waiting);
  const totals = {
    succeeded: succeeded + uncounted.succeeded.length,
    failed: failed + uncounted.failed.length,
    left: active.length + terminating,
  };
  const events = targetCondition(old) === undefined ? proceed(job, { status, active, totals, now }) : [];
  if (targetCondition(old) !== undefined) {
    const quiet = totals.left === 0 && waiting.length === 0 && !pods.some(({ tracked }) => tracked);
    if (quiet) events.push(...finish(status, now));
  }
  return { status, events };
}

interface Progress {
  status: JobStatus;
  active: readonly JobPod[];
  /** With those that are not counted yet. */
  totals: { succeeded: number; failed: number; left: number };
  now: number;
}

/** Before the end is decided: it is now, or the Job begins, is suspended or resumed. */
function proceed(job: Job, { status, active, totals, now }: Progress): JobEvent[] {
  const { spec } = job;
  const suspended = spec?.suspend === true;
  const failure = failureOf(job, { status, active, totals, now });
  if (failure !== undefined) {
    setCondition(status, { type: "FailureTarget", status: "True", ...failure }, now);
    return [];
  }
  const { completions } = spec ?? {};
  const done =
    completions === undefined ? totals.succeeded > 0 && totals.left === 0 : totals.succeeded >= completions;
  if (done) {
    setCondition(status, { type: "SuccessCriteriaMet", status: "True", ...REACHED }, now);
    status.startTime ??= timeText(now);
    return [];
  }
  const was = trueCondition(status, "Suspended") !== undefined;
  if (suspended && !was) {
    const why = { reason: "JobSuspended", message: "Job suspended" };
    setCondition(status, { type: "Suspended", status: "True", ...why }, now);
    return [{ type: "Normal", reason: "Suspended", message: "Job suspended" }];
  }
  if (!suspended && was) {
    // The deadline is about the time without interruption.
    status.startTime = timeText(now);
    setCondition(
      status,
      { type: "Suspended", status: "False", reason: "JobResumed", message: "Job resumed" },
      now,
    );
    return [{ type: "Normal", reason: "Resumed", message: "Job resumed" }];
  }
  if (!suspended) status.startTime ??= timeText(now);
  return [];
}

function failureOf(job: Job, { active, totals, now }: Progress): Ended | undefined {
  const { backoffLimit = 6, template } = job.spec ?? {};
  if (totals.failed > backoffLimit) return LIMIT;
  if (template?.spec?.restartPolicy === "OnFailure") {
    const restarts = active.reduce((sum, pod) => sum + pod.restarts, 0);
    if (restarts > 0 && restarts >= backoffLimit) return LIMIT;
  }
  const deadline = deadlineOf(job);
  return deadline !== undefined && now >= deadline ? DEADLINE : undefined;
}

/** When the Job has been active for too long, in milliseconds since the epoch. */
export function deadlineOf({ spec, status }: Job): number | undefined {
  if (spec?.activeDeadlineSeconds === undefined || spec.suspend === true || status?.startTime === undefined)
    return undefined;
  return Date.parse(status.startTime) + spec.activeDeadlineSeconds * 1000;
}

/** All pods have gone and are counted. */
function finish(status: JobStatus, now: number): JobEvent[] {
  const failure = trueCondition(status, "FailureTarget");
  if (failure !== undefined) {
    const { reason = "", message = "" } = failure;
    setCondition(status, { type: "Failed", status: "True", reason, message }, now);
    return [{ type: "Warning", reason, message }];
  }
  status.completionTime = timeText(now);
  setCondition(status, { type: "Complete", status: "True", ...REACHED }, now);
  return [{ type: "Normal", reason: "Completed", message: "Job completed" }];
}

function setCondition(status: JobStatus, condition: JobCondition, now: number): void {
  const time = timeText(now);
  const others = (status.conditions ?? []).filter(({ type }) => type !== condition.type);
  status.conditions = [...others, { ...condition, lastProbeTime: time, lastTransitionTime: time }];
}

/** RFC 3339 in whole seconds. */
function timeText(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`;
}
