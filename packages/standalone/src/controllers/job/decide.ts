import { isDeepStrictEqual } from "node:util";
import { DONE, isDeleting, type Job, msLeft, type Outcome, wait } from "@mooring/store";
import { freeIndexes, parseIndexes } from "./indexes.ts";
import type { JobPod } from "./job-pod.ts";
import {
  deadlineOf,
  finishedCondition,
  indexCount,
  isRecorded,
  type JobEvent,
  type JobStatus,
  nextStatus,
  targetCondition,
} from "./status.ts";
import type { JobView } from "./view.ts";

/** One visible change of a Job or its pods; pods go and come in batches, whose writes share a trip to the disk. */
export type JobStep =
  /** Takes the finalizer from pods that are recorded. */
  | { do: "release-pods"; pods: readonly JobPod[] }
  /** Makes pods that its selector matches its own. */
  | { do: "adopt-pods"; pods: readonly JobPod[] }
  | { do: "write-status"; status: JobStatus; events: readonly JobEvent[] }
  /** One pod each; undefined: a pod of a Job without indexes. */
  | { do: "create-pods"; indexes: readonly (number | undefined)[] }
  | { do: "delete-pods"; pods: readonly JobPod[] }
  /** Its time after the end is over. */
  | { do: "delete-job" };

/** Pods written side by side, at most. */
export const BATCH = 64;
/** Timers cannot wait longer than some weeks. */
const LONGEST_WAIT_MS = 86_400_000;

/** The next thing to do about one Job. */
export function decide(view: JobView): JobStep | Outcome {
  const { job, orphans, pods } = view;
  if (orphans.length > 0) return release(orphans);
  if (job === undefined) return DONE;
  const tracked = pods.filter((pod) => pod.tracked);
  if (isDeleting(job)) return tracked.length > 0 ? release(tracked) : DONE;
  if (finishedCondition(job.status) !== undefined)
    return tracked.length > 0 ? release(tracked) : afterTheEnd(view, job);
  if (view.adoptable.length > 0) return { do: "adopt-pods", pods: view.adoptable.slice(0, BATCH) };
  const { status, events } = nextStatus({ ...view, job });
  if (!isDeepStrictEqual(status, job.status)) return { do: "write-status", status, events };
  const recorded = tracked.filter(isRecorded(job));
  if (recorded.length > 0) return release(recorded);
  return managePods(view, job);
}

function release(pods: readonly JobPod[]): JobStep {
  return { do: "release-pods", pods: pods.slice(0, BATCH) };
}

function afterTheEnd({ now }: JobView, { spec, status }: Job): JobStep | Outcome {
  if (spec?.ttlSecondsAfterFinished === undefined) return DONE;
  const since = Date.parse(finishedCondition(status)?.lastTransitionTime ?? "");
  const left = since + spec.ttlSecondsAfterFinished * 1000 - now;
  return left > 0 ? wait(Math.min(left, LONGEST_WAIT_MS)) : { do: "delete-job" };
}

/** As many pods as the Job wants at this time. */
function managePods(view: JobView, job: Job): JobStep | Outcome {
  const active = view.pods.filter(({ state }) => state === "active");
  if (targetCondition(job.status) !== undefined || job.spec?.suspend === true)
    return active.length > 0 ? remove(active) : later(view, job);
  const superfluous = superfluousOf(active, job);
  const fitting = active.filter((pod) => !superfluous.includes(pod));
  const wanted = wantedOf(job, fitting.length);
  const surplus = [...superfluous, ...leastUseful(fitting).slice(0, Math.max(0, fitting.length - wanted))];
  if (surplus.length > 0) return remove(surplus);
  const onlyWhenFailed = job.spec?.podReplacementPolicy === "Failed";
  const leaving = onlyWhenFailed ? view.pods.filter(({ state }) => state === "terminating") : [];
  const missing = wanted - active.length - leaving.length;
  if (missing <= 0) return later(view, job);
  const delayMs = backoffLeft(view);
  if (delayMs > 0) return later(view, job, delayMs);
  const indexes = indexesFor(Math.min(missing, BATCH), job, [...active, ...leaving]);
  return indexes.length > 0 ? { do: "create-pods", indexes } : later(view, job);
}

function wantedOf({ spec, status }: Job, active: number): number {
  const { completions, parallelism = 1 } = spec ?? {};
  const succeeded = status?.succeeded ?? 0;
  const uncounted = status?.uncountedTerminatedPods?.succeeded?.length ?? 0;
  // Without completions, one success means that no more are begun.
  if (completions === undefined)
    return succeeded + uncounted > 0 ? Math.min(active, parallelism) : parallelism;
  return Math.min(parallelism, Math.max(0, completions - succeeded - uncounted));
}

/** Pods of an Indexed Job that are not needed: their index is done, does not exist, or another pod has it. */
function superfluousOf(active: readonly JobPod[], job: Job): JobPod[] {
  const count = indexCount(job);
  if (count === undefined) return [];
  const taken = parseIndexes(job.status?.completedIndexes, count);
  return [...active]
    .sort((a, b) => a.createdMs - b.createdMs)
    .filter(({ index }) => {
      if (index === undefined || index >= count || taken.has(index)) return true;
      taken.add(index);
      return false;
    });
}

/** First those without a node, then those that are not ready, then the youngest. */
function leastUseful(pods: readonly JobPod[]): JobPod[] {
  return [...pods].sort(
    (a, b) =>
      Number(a.placed) - Number(b.placed) || Number(a.ready) - Number(b.ready) || b.createdMs - a.createdMs,
  );
}

function remove(pods: readonly JobPod[]): JobStep {
  return { do: "delete-pods", pods: pods.slice(0, BATCH) };
}

function indexesFor(missing: number, job: Job, present: readonly JobPod[]): (number | undefined)[] {
  const count = indexCount(job);
  if (count === undefined) return Array.from({ length: missing }, () => undefined);
  const taken = parseIndexes(job.status?.completedIndexes, count);
  for (const { index } of present) if (index !== undefined) taken.add(index);
  return freeIndexes(missing, count, taken);
}

/** Milliseconds until a pod may be made again after the failures since the last success. */
function backoffLeft({ pods, now, backoff }: JobView): number {
  const ended = pods.filter(({ state }) => state !== "active");
  const lastSuccess = Math.max(...ended.filter(({ state }) => state === "succeeded").map(endOf), -1);
  const failures = ended.filter((pod) => pod.state !== "succeeded" && endOf(pod) > lastSuccess);
  if (failures.length === 0) return 0;
  const forMs = Math.min(backoff.maxMs, backoff.baseMs * 2 ** (failures.length - 1));
  return msLeft({ since: Math.max(...failures.map(endOf)), forMs, now });
}

const endOf = ({ endedMs = 0 }: JobPod): number => endedMs;

function later({ now }: JobView, job: Job, ...others: number[]): Outcome {
  const deadline = targetCondition(job.status) === undefined ? deadlineOf(job) : undefined;
  const times = deadline === undefined ? others : [...others, deadline - now];
  return times.length === 0 ? wait() : wait(Math.min(Math.max(1, Math.min(...times)), LONGEST_WAIT_MS));
}
