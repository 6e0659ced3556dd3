import {
  type ControllerRevision,
  ControllerRevisions,
  createInformer,
  type Deployment,
  Deployments,
  type Informer,
  type Job,
  Jobs,
  type KubeObject,
  type Logger,
  type ObjectStore,
  openInformers,
  type ReplicaSet,
  ReplicaSets,
  type Resource,
  type StatefulSet,
  StatefulSets,
} from "@mooring/store";
import { BY_CONTROLLER } from "./owners.ts";

/** Live copies of workloads and of what they manage, the latter indexed by `controller` and `orphan`. */
export interface WorkloadsView {
  readonly deployments: Informer<Deployment>;
  readonly replicaSets: Informer<ReplicaSet>;
  readonly statefulSets: Informer<StatefulSet>;
  readonly revisions: Informer<ControllerRevision>;
  readonly jobs: Informer<Job>;
  /** Settles when all watches have ended, after the signal. */
  readonly done: Promise<void>;
}

/** Resolves when every copy is complete. */
export async function openWorkloadsView(
  store: ObjectStore,
  { logger, signal }: { logger: Logger; signal: AbortSignal },
): Promise<WorkloadsView> {
  const informer = <T extends KubeObject>(resource: Resource<T>): Informer<T> =>
    createInformer(store, resource, { indexers: BY_CONTROLLER, logger });
  const view = {
    deployments: informer(Deployments),
    replicaSets: informer(ReplicaSets),
    statefulSets: informer(StatefulSets),
    revisions: informer(ControllerRevisions),
    jobs: informer(Jobs),
  };
  return { ...view, ...(await openInformers(Object.values(view), signal)) };
}
