import type * as apps from "kubernetes-types/apps/v1.js";
import type * as batch from "kubernetes-types/batch/v1.js";
import type * as core from "kubernetes-types/core/v1.js";
import type { Kube, KubeObject } from "../object/meta.ts";
import { defineResource } from "../object/resource.ts";

/** `StatefulSet` of apps/v1. */
export type StatefulSet = Kube<apps.StatefulSet>;
/** `Deployment` of apps/v1. */
export type Deployment = Kube<apps.Deployment>;
/** `ReplicaSet` of apps/v1. */
export type ReplicaSet = Kube<apps.ReplicaSet>;
/** `Job` of batch/v1. */
export type Job = Kube<batch.Job>;
/** `CronJob` of batch/v1. */
export type CronJob = Kube<batch.CronJob>;
/** `ResourceQuota` of v1. */
export type ResourceQuota = Kube<core.ResourceQuota>;
/** What pods of a workload are made from. */
export type PodTemplate = core.PodTemplateSpec;

/** `ControllerRevision` of apps/v1: what a StatefulSet was at one time, as a strategic merge patch of it. */
export interface ControllerRevision extends KubeObject {
  revision: number;
  data?: unknown;
}

/** Served at `/apis/apps/v1/namespaces/NAMESPACE/statefulsets`. */
export const StatefulSets = defineResource<StatefulSet>({
  group: "apps",
  version: "v1",
  kind: "StatefulSet",
  plural: "statefulsets",
  namespaced: true,
});
/** Served at `/apis/apps/v1/namespaces/NAMESPACE/deployments`. */
export const Deployments = defineResource<Deployment>({
  group: "apps",
  version: "v1",
  kind: "Deployment",
  plural: "deployments",
  namespaced: true,
});
/** Served at `/apis/apps/v1/namespaces/NAMESPACE/replicasets`. */
export const ReplicaSets = defineResource<ReplicaSet>({
  group: "apps",
  version: "v1",
  kind: "ReplicaSet",
  plural: "replicasets",
  namespaced: true,
});
/** Served at `/apis/apps/v1/namespaces/NAMESPACE/controllerrevisions`. */
export const ControllerRevisions = defineResource<ControllerRevision>({
  group: "apps",
  version: "v1",
  kind: "ControllerRevision",
  plural: "controllerrevisions",
  namespaced: true,
});
/** Served at `/apis/batch/v1/namespaces/NAMESPACE/jobs`. */
export const Jobs = defineResource<Job>({
  group: "batch",
  version: "v1",
  kind: "Job",
  plural: "jobs",
  namespaced: true,
});
/** Served at `/apis/batch/v1/namespaces/NAMESPACE/cronjobs`. */
export const CronJobs = defineResource<CronJob>({
  group: "batch",
  version: "v1",
  kind: "CronJob",
  plural: "cronjobs",
  namespaced: true,
});
/** Served at `/api/v1/namespaces/NAMESPACE/resourcequotas`. */
export const ResourceQuotas = defineResource<ResourceQuota>({
  group: "",
  version: "v1",
  kind: "ResourceQuota",
  plural: "resourcequotas",
  namespaced: true,
});
