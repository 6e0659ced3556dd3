import {
  type Deployment,
  EventRecorder,
  isAlreadyExists,
  isConflict,
  keyOf,
  type Logger,
  type ObjectStore,
  type Outcome,
  Reconciler,
  source,
  WrittenCache,
} from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import type { WorkloadsView } from "../workloads/view.ts";
import { applyStep } from "./apply.ts";
import { type DeploymentStep, type DeploymentView, decide } from "./decide.ts";
import { readDeployment } from "./read.ts";

interface DeploymentOptions {
  store: ObjectStore;
  view: Pick<ClusterView, "pods">;
  workloads: Pick<WorkloadsView, "deployments" | "replicaSets">;
  logger: Logger;
  signal: AbortSignal;
}

/** Leads each Deployment's pods to its current template, by way of ReplicaSets. */
export function startDeployments(options: DeploymentOptions): { done: Promise<void> } {
  const { store, view, workloads, logger, signal } = options;
  const events = new EventRecorder(store, { component: "deployment-controller", logger });
  const caches = {
    deployments: new WrittenCache<Deployment>(store, workloads.deployments),
    sets: new WrittenCache(store, workloads.replicaSets),
    pods: new WrittenCache(store, view.pods),
  };
  const reconciler = new Reconciler<DeploymentView, DeploymentStep | Outcome>({
    ...{ name: "deployment", store, logger },
    sources: [source(workloads.deployments, (deployment) => [keyOf(deployment)])],
    watched: [workloads.replicaSets, view.pods],
    mostSteps: 1000,
    read: (key, context) => readDeployment(key, caches, context),
    decide,
    apply: (step, { deployment }) =>
      applyStep(step as DeploymentStep, deployment, { ...caches, store, events }),
    // A name that is taken shows in the next read.
    isOutdated: (error) => isConflict(error) || isAlreadyExists(error),
  });
  return { done: reconciler.run(signal).then(() => events.flush()) };
}
