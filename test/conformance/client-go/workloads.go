package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Of each workload, fields of every level: what is read of them is what was sent.
func workloadTrips(ctx context.Context, c *clients) error {
	meta := metav1.ObjectMeta{Name: "trip", Labels: map[string]string{"app": "trip"}}
	selector := &metav1.LabelSelector{MatchLabels: meta.Labels}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels}}
	template.Spec.Containers = []corev1.Container{{Name: "c", Image: "host", Command: []string{"true"}}}
	none, two, half := int32(0), int32(2), intstr.FromString("50%")
	claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("5Gi")}

	set := &appsv1.StatefulSet{ObjectMeta: meta}
	set.Spec = appsv1.StatefulSetSpec{Replicas: &none, Selector: selector, Template: template, ServiceName: "trip"}
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim}
	set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 7}
	set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &two}
	gotSet, err := c.typed.AppsV1().StatefulSets(namespace).Create(ctx, set, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	kept := gotSet.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage]
	if *gotSet.Spec.Replicas != 0 || gotSet.Spec.Ordinals.Start != 7 || kept.String() != "5Gi" || *gotSet.Spec.UpdateStrategy.RollingUpdate.Partition != 2 {
		return fmt.Errorf("stateful set %+v", gotSet.Spec)
	}

	deployment := &appsv1.Deployment{ObjectMeta: meta}
	deployment.Spec = appsv1.DeploymentSpec{Replicas: &none, Selector: selector, Template: template, MinReadySeconds: 3}
	deployment.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: &half}
	gotDeployment, err := c.typed.AppsV1().Deployments(namespace).Create(ctx, deployment, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if *gotDeployment.Spec.Replicas != 0 || gotDeployment.Spec.MinReadySeconds != 3 || gotDeployment.Spec.Strategy.RollingUpdate.MaxSurge.String() != "50%" {
		return fmt.Errorf("deployment %+v", gotDeployment.Spec)
	}

	replicas := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "trip-alone"}}
	replicas.Spec = appsv1.ReplicaSetSpec{Replicas: &none, Selector: selector, Template: template}
	gotReplicas, err := c.typed.AppsV1().ReplicaSets(namespace).Create(ctx, replicas, metav1.CreateOptions{})
	if err != nil || gotReplicas.Spec.Template.Spec.Containers[0].Command[0] != "true" {
		return fmt.Errorf("replica set %+v: %v", gotReplicas, err)
	}

	revision := &appsv1.ControllerRevision{ObjectMeta: meta, Revision: 4}
	revision.Data.Raw = []byte(`{"spec":{"n":1}}`)
	gotRevision, err := c.typed.AppsV1().ControllerRevisions(namespace).Create(ctx, revision, metav1.CreateOptions{})
	if err != nil || gotRevision.Revision != 4 || string(gotRevision.Data.Raw) != `{"spec":{"n":1}}` {
		return fmt.Errorf("revision %+v: %v", gotRevision, err)
	}

	yes := true
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	job := &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Suspend: &yes, Completions: &two, Template: template}}
	gotJob, err := c.typed.BatchV1().Jobs(namespace).Create(ctx, job, metav1.CreateOptions{})
	if err != nil || !*gotJob.Spec.Suspend || *gotJob.Spec.Completions != 2 {
		return fmt.Errorf("job %+v: %v", gotJob, err)
	}
	cron := &batchv1.CronJob{ObjectMeta: meta}
	cron.Spec = batchv1.CronJobSpec{Schedule: "0 0 1 1 *", Suspend: &yes}
	cron.Spec.JobTemplate.Spec.Template = template
	gotCron, err := c.typed.BatchV1().CronJobs(namespace).Create(ctx, cron, metav1.CreateOptions{})
	if err != nil || gotCron.Spec.Schedule != "0 0 1 1 *" || !*gotCron.Spec.Suspend {
		return fmt.Errorf("cron job %+v: %v", gotCron, err)
	}
	return nil
}
