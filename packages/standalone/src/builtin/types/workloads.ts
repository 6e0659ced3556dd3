import { TypeTable } from "../../schema/dsl.ts";
import { metaTypes } from "../../schema/object-meta.ts";
import { claimTypes } from "./claim.ts";
import { podTypes } from "./pod.ts";

const HEAD = `
  apiVersion: string -- Version of this form of the object.
  kind: string -- Kind of the object.
  metadata: ObjectMeta -- Identity and bookkeeping.`;

const CONDITION = `
  type!: string -- Name of the aspect.
  status!: string -- True, False or Unknown.
  lastTransitionTime: time -- When the status last changed.
  reason: string -- Reason in CamelCase.
  message: string -- Human-readable message.`;

const templateTypes = new TypeTable(
  "io.k8s.api.core.v1",
  `
type PodTemplateSpec "What pods are made from."
  metadata: ObjectMeta -- Labels and annotations of the pods.
  spec!: PodSpec -- What they run.
`,
  [metaTypes, podTypes],
);

/** Deployments, ReplicaSets, StatefulSets and their history. */
export const appsTypes = new TypeTable(
  "io.k8s.api.apps.v1",
  `
type RollingUpdateDeployment "How far a rolling update may go at a time."
  maxUnavailable: intOrString -- Pods, or a share of them, that may be missing.
  maxSurge: intOrString -- Pods, or a share of them, that may be there beyond replicas.
type DeploymentStrategy "How old pods are replaced."
  type: string =RollingUpdate enum(Recreate,RollingUpdate) -- One after the other, or all at once.
  rollingUpdate: RollingUpdateDeployment -- Its limits.
type DeploymentSpec "What should run."
  replicas: int32 =1 min(0) -- Number of pods.
  selector!: LabelSelector -- The pods; must match the template's labels.
  template!: PodTemplateSpec -- What they are made from.
  strategy: DeploymentStrategy ={} retain -- How old pods are replaced.
  minReadySeconds: int32 min(0) -- How long a pod is ready before it counts as available.
  revisionHistoryLimit: int32 =10 min(0) -- Old ReplicaSets that are kept.
  paused: bool -- Changes of the template wait.
  progressDeadlineSeconds: int32 =600 -- Time without progress after which the rollout counts as failed.
type DeploymentCondition "One aspect of a Deployment's state."${CONDITION}
  lastUpdateTime: time -- When the condition was last written.
type DeploymentStatus "What runs."
  observedGeneration: int64 -- Generation that this was derived from.
  replicas: int32 -- Pods.
  updatedReplicas: int32 -- Pods of the current template.
  readyReplicas: int32 -- Pods that are ready.
  availableReplicas: int32 -- Pods that are available.
  unavailableReplicas: int32 -- Pods that are missing.
  terminatingReplicas: int32 -- Pods that are being deleted.
  conditions: []DeploymentCondition map(type) merge(type) -- Available, Progressing, ReplicaFailure.
  collisionCount: int32 -- How often the hash of the template was taken.
type Deployment "Pods that are replaced little by little when their template changes."${HEAD}
  spec: DeploymentSpec -- What should run.
  status: DeploymentStatus ={} -- What runs; read only.
type ReplicaSetSpec "What should run."
  replicas: int32 =1 min(0) -- Number of pods.
  minReadySeconds: int32 min(0) -- How long a pod is ready before it counts as available.
  selector!: LabelSelector -- The pods; must match the template's labels.
  template: PodTemplateSpec -- What they are made from.
type ReplicaSetCondition "One aspect of a ReplicaSet's state."${CONDITION}
type ReplicaSetStatus "What runs."
  replicas: int32 =0 -- Pods.
  fullyLabeledReplicas: int32 -- Pods with all labels of the template.
  readyReplicas: int32 -- Pods that are ready.
  availableReplicas: int32 -- Pods that are available.
  terminatingReplicas: int32 -- Pods that are being deleted.
  observedGeneration: int64 -- Generation that this was derived from.
  conditions: []ReplicaSetCondition map(type) merge(type) -- ReplicaFailure.
type ReplicaSet "A number of equal pods."${HEAD}
  spec: ReplicaSetSpec -- What should run.
  status: ReplicaSetStatus ={} -- What runs; read only.
type RollingUpdateStatefulSetStrategy "How far a rolling update goes."
  partition: int32 =0 min(0) -- Pods with smaller ordinals stay as they are.
  maxUnavailable: intOrString -- Pods that may be missing at a time.
type StatefulSetUpdateStrategy "How old pods are replaced."
  type: string =RollingUpdate enum(OnDelete,RollingUpdate) -- By the controller, or by the user who deletes pods.
  rollingUpdate: RollingUpdateStatefulSetStrategy -- Its limits.
type StatefulSetPersistentVolumeClaimRetentionPolicy "What becomes of claims."
  whenDeleted: string =Retain enum(Delete,Retain) -- When the StatefulSet is deleted.
  whenScaled: string =Retain enum(Delete,Retain) -- When it gets smaller.
type StatefulSetOrdinals "Numbers of the pods."
  start: int32 =0 min(0) -- The first one.
type StatefulSetSpec "What should run."
  replicas: int32 =1 min(0) -- Number of pods.
  selector!: LabelSelector -- The pods; must match the template's labels.
  template!: PodTemplateSpec -- What they are made from.
  volumeClaimTemplates: []PersistentVolumeClaim -- Claims of each pod, which outlive it.
  serviceName: string -- Service that governs the pods' network names.
  podManagementPolicy: string =OrderedReady enum(OrderedReady,Parallel) -- One after the other, or all at once.
  updateStrategy: StatefulSetUpdateStrategy ={} -- How old pods are replaced.
  revisionHistoryLimit: int32 =10 min(0) -- Old revisions that are kept.
  minReadySeconds: int32 min(0) -- How long a pod is ready before it counts as available.
  persistentVolumeClaimRetentionPolicy: StatefulSetPersistentVolumeClaimRetentionPolicy ={} -- What becomes of claims.
  ordinals: StatefulSetOrdinals -- Numbers of the pods.
type StatefulSetCondition "One aspect of a StatefulSet's state."${CONDITION}
type StatefulSetStatus "What runs."
  observedGeneration: int64 -- Generation that this was derived from.
  replicas: int32 =0 -- Pods.
  readyReplicas: int32 -- Pods that are ready.
  currentReplicas: int32 -- Pods of the revision before the update.
  updatedReplicas: int32 -- Pods of the revision of the update.
  currentRevision: string -- Revision before the update.
  updateRevision: string -- Revision of the update.
  collisionCount: int32 -- How often the hash of a revision was taken.
  conditions: []StatefulSetCondition map(type) merge(type) -- Further aspects.
  availableReplicas: int32 =0 -- Pods that are available.
type StatefulSet "Pods with names and claims of their own."${HEAD}
  spec: StatefulSetSpec -- What should run.
  status: StatefulSetStatus ={} -- What runs; read only.
type ControllerRevision "What a StatefulSet was at one time."${HEAD}
  data: object -- The part that is kept.
  revision!: int64 -- Its number.
`,
  [metaTypes, templateTypes, claimTypes],
);

/** Jobs, and what makes them by the clock. */
export const batchTypes = new TypeTable(
  "io.k8s.api.batch.v1",
  `
type UncountedTerminatedPods "Pods that have ended and are not in the counts yet."
  succeeded: []string set -- UIDs of those that succeeded.
  failed: []string set -- UIDs of those that failed.
type JobSpec "What should be done."
  parallelism: int32 =1 min(0) -- Pods that run at a time, at most.
  completions: int32 min(0) -- Pods that must succeed; absent: one of them is enough.
  activeDeadlineSeconds: int64 -- Time after which the Job fails.
  podFailurePolicy: object -- Which failures count.
  successPolicy: object -- When the Job has succeeded before all of its pods.
  backoffLimit: int32 min(0) -- Failures before the Job fails.
  backoffLimitPerIndex: int32 -- The same for each index.
  maxFailedIndexes: int32 -- Indexes that may fail.
  selector: LabelSelector -- The pods; made by the server.
  manualSelector: bool -- The selector is the client's.
  template!: PodTemplateSpec -- What the pods are made from.
  ttlSecondsAfterFinished: int32 min(0) -- Time after its end when the Job is deleted.
  completionMode: string =NonIndexed enum(Indexed,NonIndexed) -- Whether each pod has a part of its own.
  suspend: bool =false -- No pods run.
  podReplacementPolicy: string enum(Failed,TerminatingOrFailed) -- When a pod is replaced.
  managedBy: string -- Controller that runs the Job.
type JobCondition "One aspect of a Job's state."${CONDITION}
  lastProbeTime: time -- When it was last checked.
type JobStatus "What has been done."
  conditions: []JobCondition atomic merge(type) -- Complete, Failed, Suspended.
  startTime: time -- When it began.
  completionTime: time -- When it succeeded.
  active: int32 -- Pods that are not at their end.
  terminating: int32 -- Pods that are being deleted.
  ready: int32 -- Pods that are ready.
  succeeded: int32 -- Pods that succeeded.
  failed: int32 -- Pods that failed.
  completedIndexes: string -- Indexes that are done: 0-2,4.
  failedIndexes: string -- Indexes that have failed.
  uncountedTerminatedPods: UncountedTerminatedPods -- Pods that have ended and are not in the counts yet.
type Job "Pods that run to their end."${HEAD}
  spec: JobSpec -- What should be done.
  status: JobStatus ={} -- What has been done; read only.
type JobTemplateSpec "What Jobs are made from."
  metadata: ObjectMeta -- Labels and annotations of the Jobs.
  spec!: JobSpec -- What they do.
type CronJobSpec "When to do what."
  schedule!: string -- Five fields as of cron.
  timeZone: string -- Name of a time zone; absent: that of the server.
  startingDeadlineSeconds: int64 min(0) -- How late a Job may begin.
  concurrencyPolicy: string =Allow enum(Allow,Forbid,Replace) -- What becomes of a Job whose predecessor still runs.
  suspend: bool =false -- No Jobs are made.
  jobTemplate!: JobTemplateSpec -- What they are made from.
  successfulJobsHistoryLimit: int32 =3 min(0) -- Jobs that succeeded and are kept.
  failedJobsHistoryLimit: int32 =1 min(0) -- Jobs that failed and are kept.
type CronJobStatus "What was made."
  active: []ObjectReference -- Jobs that run.
  lastScheduleTime: time -- When the last Job was due.
  lastSuccessfulTime: time -- When one last succeeded.
type CronJob "Jobs by the clock."${HEAD}
  spec: CronJobSpec -- When to do what.
  status: CronJobStatus ={} -- What was made; read only.
`,
  [metaTypes, templateTypes],
);

/** What a namespace may have. */
export const quotaTypes = new TypeTable(
  "io.k8s.api.core.v1",
  `
type ResourceQuotaSpec "What a namespace may have."
  hard: {}quantity -- Limits by resource.
  scopes: []string -- Objects that count.
  scopeSelector: object -- Objects that count, by a selector.
type ResourceQuotaStatus "What it has."
  hard: {}quantity -- Limits in force.
  used: {}quantity -- What there is.
type ResourceQuota "Limits of what a namespace may have."${HEAD}
  spec: ResourceQuotaSpec ={} -- The limits.
  status: ResourceQuotaStatus ={} -- What there is; read only.
`,
  [metaTypes],
);
