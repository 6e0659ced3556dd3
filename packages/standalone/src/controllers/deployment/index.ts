import { type Deployment, stepFailpoints, WrittenCache } from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import { type WorkloadRun, workloadController } from "../workloads/controller.ts";
import type { WorkloadsView } from "../workloads/view.ts";
import { applyStep } from "./apply.ts";
import { type DeploymentStep, type DeploymentView, decide } from "./decide.ts";
import { readDeployment } from "./read.ts";

const failpoints = stepFailpoints<DeploymentStep>("standalone/deployment", {
  "adopt-set": true,
  "create-set": true,
  "count-collision": true,
  "set-revision": true,
  "record-revision": true,
  "scale-set": true,
  "delete-set": true,
  "write-status": true,
});

interface DeploymentOptions extends WorkloadRun {
  view: Pick<ClusterView, "pods">;
  workloads: Pick<WorkloadsView, "deployments" | "replicaSets">;
}

/** Leads each Deployment's pods to its current template, by way of ReplicaSets. */
export function startDeployments({ view, workloads, ...run }: DeploymentOptions): { done: Promise<void> } {
  const { store } = run;
  const caches = {
    deployments: new WrittenCache(store, workloads.deployments),
    sets: new WrittenCache(store, workloads.replicaSets),
    pods: new WrittenCache(store, view.pods),
  };
  return workloadController<Deployment, DeploymentView, DeploymentStep>(run, {
    ...{ name: "deployment", component: "deployment-controller", failpoints },
    objects: workloads.deployments,
    watched: [workloads.replicaSets, view.pods],
    read: (key, context) => readDeployment(key, caches, context),
    decide,
    apply: (step, { deployment }, events) => applyStep(step, deployment, { ...caches, store, events }),
  });
}
