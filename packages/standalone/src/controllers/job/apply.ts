import {
  allInParallel,
  type EventRecorder,
  failpoint,
  isConflict,
  isNotFound,
  type Job,
  Jobs,
  type KubeObject,
  keyOf,
  mutate,
  type ObjectStore,
  ownerReferenceTo,
  type Pod,
  Pods,
  parseKey,
  unsetFinalizer,
  type WrittenCache,
} from "@mooring/store";
import { controllerOf, JOB_TRACKING } from "../job-pods.ts";
import { BATCH, type JobStep } from "./decide.ts";
import type { JobPod } from "./job-pod.ts";
import { newPod } from "./new-pod.ts";

// Pods of a batch are written side by side: a process may end with some of them done.
const podCreated = failpoint("standalone/job/pod-created");
const podReleased = failpoint("standalone/job/pod-released");
const podDeleted = failpoint("standalone/job/pod-deleted");

/** What the steps are made with. */
export interface JobWrites {
  store: ObjectStore;
  jobs: WrittenCache<Job>;
  pods: WrittenCache<Pod>;
  events: EventRecorder;
}

/** Makes one step. `job` is undefined where pods of a Job that is gone are released. */
export async function apply(step: JobStep, job: Job | undefined, writes: JobWrites): Promise<void> {
  if (step.do === "release-pods") {
    await allInParallel(step.pods, (pod) => release(pod, writes), BATCH);
    return;
  }
  if (job === undefined) return;
  switch (step.do) {
    case "write-status": {
      // The version is that of the counts: no other pass has added to them since.
      writes.jobs.wrote(await writes.store.updateStatus(Jobs, { ...job, status: step.status }));
      for (const { type, reason, message } of step.events) writes.events.event(job, type, reason, message);
      return;
    }
    case "adopt-pods":
      await allInParallel(step.pods, (pod) => adopt(job, pod, writes), BATCH);
      return;
    case "create-pods":
      await allInParallel(step.indexes, (index) => create(job, index, writes), BATCH);
      return;
    case "delete-pods":
      await allInParallel(step.pods, (pod) => remove(job, pod, writes), BATCH);
      return;
    case "delete-job":
      return deleteJob(job, writes);
  }
}

async function create(
  job: Job,
  index: number | undefined,
  { store, pods, events }: JobWrites,
): Promise<void> {
  try {
    const { metadata } = pods.wrote(await store.create(Pods, newPod(job, index)));
    podCreated();
    events.event(job, "Normal", "SuccessfulCreate", `Created pod: ${metadata.name}`);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    events.event(job, "Warning", "FailedCreate", `Error creating: ${message}`);
    throw error;
  }
}

/** Both in one write: from then on its end is counted. Another writer that was faster has it. */
async function adopt(job: Job, { key, uid }: JobPod, { store, pods }: JobWrites): Promise<void> {
  try {
    const pod = await mutate(store, Pods, key, (fresh) => {
      const { ownerReferences = [], finalizers = [], deletionTimestamp } = fresh.metadata;
      if (fresh.metadata.uid !== uid || deletionTimestamp !== undefined || controllerOf(fresh)) return;
      fresh.metadata.ownerReferences = [...ownerReferences, ownerReferenceTo(job)];
      fresh.metadata.finalizers = [...new Set([...finalizers, JOB_TRACKING])];
    });
    pods.wrote(pod);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await pods.refresh(keyOf({ metadata: key }));
  }
}

async function release({ key, uid }: JobPod, { store, pods }: JobWrites): Promise<void> {
  const change = (pod: Pod) => void (pod.metadata.uid === uid && unsetFinalizer(pod, JOB_TRACKING));
  try {
    const pod = await mutate(store, Pods, key, change);
    if (pod.metadata.deletionTimestamp !== undefined && isGone(pod)) pods.gone(pod);
    else pods.wrote(pod);
    podReleased();
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await pods.refresh(keyOf({ metadata: key }));
  }
}

async function remove(job: Job, { key, uid }: JobPod, { store, pods, events }: JobWrites): Promise<void> {
  try {
    const pod = await store.delete(Pods, key, { preconditions: { uid } });
    if (isGone(pod)) pods.gone(pod);
    else pods.wrote(pod);
    podDeleted();
    events.event(job, "Normal", "SuccessfulDelete", `Deleted pod: ${key.name}`);
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
    await pods.refresh(keyOf({ metadata: key }));
  }
}

/** True when no finalizer and no grace period keeps the deleted object. */
function isGone({ metadata }: KubeObject): boolean {
  return (metadata.finalizers ?? []).length === 0 && (metadata.deletionGracePeriodSeconds ?? 0) === 0;
}

/** Only as it was read: its owner may have given it more time. */
async function deleteJob(job: Job, { store, jobs }: JobWrites): Promise<void> {
  const { uid = "", resourceVersion = "" } = job.metadata;
  const preconditions = { uid, resourceVersion };
  try {
    const left = await store.delete(Jobs, parseKey(keyOf(job)), {
      propagationPolicy: "Foreground",
      preconditions,
    });
    jobs.deleted(left);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await jobs.refresh(keyOf(job));
  }
}
