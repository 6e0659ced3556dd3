/** The wire format of workloads and quotas in protobuf (k8s.io/api, generated.proto), in the form of `CORE_MESSAGES`. */
export const WORKLOAD_MESSAGES: Readonly<Record<string, string>> = {
  "apps.ControllerRevision": "1 metadata? meta.ObjectMeta,2 data? raw,3 revision int",
  "apps.Deployment":
    "1 metadata? meta.ObjectMeta,2 spec? apps.DeploymentSpec,3 status? apps.DeploymentStatus",
  "apps.DeploymentCondition":
    "1 type string,2 status string,4 reason? string,5 message? string,6 lastUpdateTime? time,7 lastTransitionTime? time",
  "apps.DeploymentSpec":
    "1 replicas int,2 selector meta.LabelSelector,3 template core.PodTemplateSpec,4 strategy? apps.DeploymentStrategy,5 minReadySeconds? int,6 revisionHistoryLimit int,7 paused? bool,9 progressDeadlineSeconds int",
  "apps.DeploymentStatus":
    "1 observedGeneration? int,2 replicas? int,3 updatedReplicas? int,4 availableReplicas? int,5 unavailableReplicas? int,6 conditions? []apps.DeploymentCondition,7 readyReplicas? int,8 collisionCount int,9 terminatingReplicas int",
  "apps.DeploymentStrategy": "1 type? string,2 rollingUpdate apps.RollingUpdateDeployment",
  "apps.ReplicaSet":
    "1 metadata? meta.ObjectMeta,2 spec? apps.ReplicaSetSpec,3 status? apps.ReplicaSetStatus",
  "apps.ReplicaSetCondition":
    "1 type string,2 status string,3 lastTransitionTime? time,4 reason? string,5 message? string",
  "apps.ReplicaSetSpec":
    "1 replicas int,2 selector meta.LabelSelector,3 template? core.PodTemplateSpec,4 minReadySeconds? int",
  "apps.ReplicaSetStatus":
    "1 replicas int,2 fullyLabeledReplicas? int,3 observedGeneration? int,4 readyReplicas? int,5 availableReplicas? int,6 conditions? []apps.ReplicaSetCondition,7 terminatingReplicas int",
  "apps.RollingUpdateDeployment": "1 maxUnavailable intorstring,2 maxSurge intorstring",
  "apps.RollingUpdateStatefulSetStrategy": "1 partition int,2 maxUnavailable intorstring",
  "apps.StatefulSet":
    "1 metadata? meta.ObjectMeta,2 spec? apps.StatefulSetSpec,3 status? apps.StatefulSetStatus",
  "apps.StatefulSetCondition":
    "1 type string,2 status string,3 lastTransitionTime? time,4 reason? string,5 message? string",
  "apps.StatefulSetOrdinals": "1 start int",
  "apps.StatefulSetPersistentVolumeClaimRetentionPolicy": "1 whenDeleted? string,2 whenScaled? string",
  "apps.StatefulSetSpec":
    "1 replicas int,2 selector meta.LabelSelector,3 template core.PodTemplateSpec,4 volumeClaimTemplates? []core.PersistentVolumeClaim,5 serviceName string,6 podManagementPolicy? string,7 updateStrategy? apps.StatefulSetUpdateStrategy,8 revisionHistoryLimit int,9 minReadySeconds? int,10 persistentVolumeClaimRetentionPolicy apps.StatefulSetPersistentVolumeClaimRetentionPolicy,11 ordinals apps.StatefulSetOrdinals",
  "apps.StatefulSetStatus":
    "1 observedGeneration? int,2 replicas int,3 readyReplicas? int,4 currentReplicas? int,5 updatedReplicas? int,6 currentRevision? string,7 updateRevision? string,9 collisionCount int,10 conditions? []apps.StatefulSetCondition,11 availableReplicas int",
  "apps.StatefulSetUpdateStrategy": "1 type? string,2 rollingUpdate apps.RollingUpdateStatefulSetStrategy",
  "batch.CronJob": "1 metadata? meta.ObjectMeta,2 spec? batch.CronJobSpec,3 status? batch.CronJobStatus",
  "batch.CronJobSpec":
    "1 schedule string,2 startingDeadlineSeconds int,3 concurrencyPolicy? string,4 suspend bool,5 jobTemplate batch.JobTemplateSpec,6 successfulJobsHistoryLimit int,7 failedJobsHistoryLimit int,8 timeZone string",
  "batch.CronJobStatus": "1 active? []core.ObjectReference,4 lastScheduleTime time,5 lastSuccessfulTime time",
  "batch.Job": "1 metadata? meta.ObjectMeta,2 spec? batch.JobSpec,3 status? batch.JobStatus",
  "batch.JobCondition":
    "1 type string,2 status string,3 lastProbeTime? time,4 lastTransitionTime? time,5 reason? string,6 message? string",
  "batch.JobSpec":
    "1 parallelism int,2 completions int,3 activeDeadlineSeconds int,4 selector meta.LabelSelector,5 manualSelector bool,6 template core.PodTemplateSpec,7 backoffLimit int,8 ttlSecondsAfterFinished int,9 completionMode string,10 suspend bool,11 podFailurePolicy batch.PodFailurePolicy,12 backoffLimitPerIndex int,13 maxFailedIndexes int,14 podReplacementPolicy string,15 managedBy string,16 successPolicy batch.SuccessPolicy",
  "batch.JobStatus":
    "1 conditions? []batch.JobCondition,2 startTime time,3 completionTime time,4 active? int,5 succeeded? int,6 failed? int,7 completedIndexes? string,8 uncountedTerminatedPods batch.UncountedTerminatedPods,9 ready int,10 failedIndexes string,11 terminating int",
  "batch.JobTemplateSpec": "1 metadata? meta.ObjectMeta,2 spec? batch.JobSpec",
  "batch.PodFailurePolicy": "1 rules []batch.PodFailurePolicyRule",
  "batch.PodFailurePolicyOnExitCodesRequirement": "1 containerName string,2 operator string,3 values []int",
  "batch.PodFailurePolicyOnPodConditionsPattern": "1 type string,2 status string",
  "batch.PodFailurePolicyRule":
    "1 action string,2 onExitCodes batch.PodFailurePolicyOnExitCodesRequirement,3 onPodConditions? []batch.PodFailurePolicyOnPodConditionsPattern",
  "batch.SuccessPolicy": "1 rules []batch.SuccessPolicyRule",
  "batch.SuccessPolicyRule": "1 succeededIndexes string,2 succeededCount int",
  "batch.UncountedTerminatedPods": "1 succeeded? []string,2 failed? []string",
  "core.PodTemplateSpec": "1 metadata? meta.ObjectMeta,2 spec? core.PodSpec",
  "core.ResourceQuota":
    "1 metadata? meta.ObjectMeta,2 spec? core.ResourceQuotaSpec,3 status? core.ResourceQuotaStatus",
  "core.ResourceQuotaSpec": "1 hard? {}quantity,2 scopes? []string,3 scopeSelector core.ScopeSelector",
  "core.ResourceQuotaStatus": "1 hard? {}quantity,2 used? {}quantity",
  "core.ScopeSelector": "1 matchExpressions? []core.ScopedResourceSelectorRequirement",
  "core.ScopedResourceSelectorRequirement": "1 scopeName string,2 operator string,3 values? []string",
};
