import {
  type CronJob,
  CronJobs,
  type Deployment,
  type Job,
  Jobs,
  type KubeObject,
  type ReplicaSet,
  type Resource,
  type StatefulSet,
} from "@mooring/store";
import type { FindingState } from "./finding.ts";

/** How far a workload is, by its own status. */
export interface WorkloadState {
  state: FindingState;
  message: string;
  /** Where it does not go on by itself. */
  next?: string;
}

/** Of a Deployment, ReplicaSet, StatefulSet, Job or CronJob. */
export function workloadState(resource: Resource, object: KubeObject): WorkloadState {
  if (resource === Jobs) return ofJob(object as Job);
  if (resource === CronJobs) return ofCronJob(object as CronJob);
  return ofReplicas(object as Deployment | ReplicaSet | StatefulSet);
}

function ofReplicas({ metadata, spec, status }: Deployment | ReplicaSet | StatefulSet): WorkloadState {
  const [wanted, ready] = [spec?.replicas ?? 1, status?.readyReplicas ?? 0];
  const count = `${ready} of ${wanted} pods are ready`;
  if (ready >= wanted) return { state: "ok", message: count };
  const { name, namespace } = metadata;
  return (spec as Deployment["spec"])?.paused === true
    ? {
        ...{ state: "waiting", message: `${count}, and its rollout is paused` },
        next: `kubectl rollout resume -n ${namespace} deployment/${name}`,
      }
    : { state: "waiting", message: count };
}

function ofJob({ metadata, spec, status }: Job): WorkloadState {
  const { succeeded = 0, failed = 0, active = 0, conditions = [] } = status ?? {};
  const { completions, parallelism = 1, suspend = false } = spec ?? {};
  const ended = (wanted: string) =>
    conditions.find(({ type, status: state }) => type === wanted && state === "True");
  const failure = ended("Failed");
  const { name, namespace } = metadata;
  if (failure !== undefined)
    return {
      ...{ state: "failed", message: `has failed: ${failure.reason}: ${failure.message}` },
      next: `put right what ended it, delete it, and create it again: kubectl delete job -n ${namespace} ${name}`,
    };
  const count = `${succeeded} of ${completions ?? parallelism} pods have succeeded, ${failed} failed`;
  if (ended("Complete") !== undefined) return { state: "ok", message: `is complete: ${count}` };
  if (suspend) return { state: "ok", message: `is suspended: ${count}` };
  return { state: active > 0 ? "ok" : "waiting", message: `${count}, ${active} run` };
}

function ofCronJob({ spec, status }: CronJob): WorkloadState {
  const last = status?.lastScheduleTime;
  const when = last === undefined ? "has begun no Job yet" : `began its last Job at ${String(last)}`;
  return { state: "ok", message: spec?.suspend === true ? `is suspended; ${when}` : when };
}
