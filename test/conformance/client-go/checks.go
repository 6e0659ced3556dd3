package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/tools/record"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/retry"
)

var checks = []check{
	{"informers of built-in kinds see what happens", typedInformer},
	{"informers that resume a watch miss nothing", retryWatcher},
	{"a leader is elected, renews, and hands over", leaderElection},
	{"events are recorded and aggregated, old style and new", eventRecorders},
	{"pages are walked to the end", paging},
	{"conflicts are retried", conflicts},
	{"errors are typed", typedErrors},
	{"server-side apply from apply configurations", applyConfigurations},
	{"all built-in kinds survive the trip in protobuf", roundTrips},
	{"pods are bound, patched, evicted and deleted with grace", pods},
	{"expired watches say so", expired},
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
}

func retryWatcher(ctx context.Context, c *clients) error {
	maps := c.typed.CoreV1().ConfigMaps(namespace)
	first, err := maps.Create(ctx, configMap("resumed"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	seconds := int64(1)
	opened := 0
	source := &cache.ListWatch{WatchFunc: func(options metav1.ListOptions) (watch.Interface, error) {
		opened++
		options.TimeoutSeconds = &seconds
		options.FieldSelector = fields.OneTermEqualSelector("metadata.name", "resumed").String()
		return maps.Watch(ctx, options)
	}}
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, first.ResourceVersion, source)
	if err != nil {
		return err
	}
	defer watcher.Stop()
	go func() {
		for i := range 20 {
			patch := fmt.Sprintf(`{"data":{"n":"%d"}}`, i)
			_, _ = maps.Patch(ctx, "resumed", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			time.Sleep(200 * time.Millisecond)
		}
	}()
	for i := range 20 {
		select {
		case event := <-watcher.ResultChan():
			object, ok := event.Object.(*corev1.ConfigMap)
			if !ok || object.Data["n"] != fmt.Sprint(i) {
				return fmt.Errorf("event %d is %v", i, event)
			}
		case <-ctx.Done():
			return errors.New("an event is missing")
		}
	}
	if opened < 3 {
		return fmt.Errorf("the watch was opened %d times only", opened)
	}
	return nil
}

func leaderElection(ctx context.Context, c *clients) error {
	elected := make(chan string, 10)
	run := func(identity string) context.CancelFunc {
		own, stop := context.WithCancel(ctx)
		lock := &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Name: "leader", Namespace: namespace},
			Client:     c.typed.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		}
		go leaderelection.RunOrDie(own, leaderelection.LeaderElectionConfig{
			Lock: lock, ReleaseOnCancel: true,
			LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 300 * time.Millisecond,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { elected <- identity },
				OnStoppedLeading: func() {},
			},
		})
		return stop
	}
	stopFirst := run("first")
	if leader := <-elected; leader != "first" {
		return fmt.Errorf("%s leads", leader)
	}
	defer run("second")()
	select {
	case leader := <-elected:
		return fmt.Errorf("%s leads, too", leader)
	case <-time.After(4 * time.Second):
	}
	stopFirst()
	select {
	case <-elected:
	case <-ctx.Done():
		return errors.New("nobody took over")
	}
	lease, err := c.typed.CoordinationV1().Leases(namespace).Get(ctx, "leader", metav1.GetOptions{})
	if err != nil || *lease.Spec.HolderIdentity != "second" || *lease.Spec.LeaseTransitions < 1 {
		return fmt.Errorf("lease %+v: %v", lease, err)
	}
	return nil
}

func eventRecorders(ctx context.Context, c *clients) error {
	about, err := c.typed.CoreV1().ConfigMaps(namespace).Create(ctx, configMap("reported"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	old := record.NewBroadcaster(record.WithContext(ctx))
	old.StartRecordingToSink(&typedcore.EventSinkImpl{Interface: c.typed.CoreV1().Events(namespace)})
	recorder := old.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "old-style"})
	modern := events.NewBroadcaster(&events.EventSinkImpl{Interface: c.typed.EventsV1()})
	if err := modern.StartRecordingToSinkWithContext(ctx); err != nil {
		return err
	}
	newRecorder := modern.NewRecorder(scheme.Scheme, "example.com/new-style")
	for range 3 {
		recorder.Event(about, corev1.EventTypeNormal, "Old", "said the old way")
		newRecorder.Eventf(about, nil, corev1.EventTypeNormal, "New", "Saying", "said the new way")
	}
	return poll(ctx, "both events in both versions, counted", func() (bool, error) {
		core, err := c.typed.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(about.UID)})
		if err != nil {
			return false, err
		}
		views, err := c.typed.EventsV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "regarding.uid=" + string(about.UID)})
		if err != nil {
			return false, err
		}
		counted, series := false, false
		for _, event := range core.Items {
			counted = counted || event.Reason == "Old" && event.Count == 3
		}
		for _, event := range views.Items {
			series = series || event.Reason == "New" && event.Note == "said the new way" && event.Series != nil
		}
		return counted && series && len(core.Items) == len(views.Items), nil
	})
}

func paging(ctx context.Context, c *clients) error {
	maps := c.typed.CoreV1().ConfigMaps(namespace)
	for i := range 23 {
		object := configMap(fmt.Sprintf("page-%02d", i))
		object.Labels = map[string]string{"paged": "yes"}
		if _, err := maps.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	walk := pager.New(pager.SimplePageFunc(func(options metav1.ListOptions) (runtime.Object, error) {
		return maps.List(ctx, options)
	}))
	walk.PageSize = 5
	seen := 0
	err := walk.EachListItem(ctx, metav1.ListOptions{LabelSelector: "paged=yes"}, func(runtime.Object) error {
		seen++
		return nil
	})
	if err != nil || seen != 23 {
		return fmt.Errorf("%d objects: %v", seen, err)
	}
	if err := maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "paged=yes"}); err != nil {
		return err
	}
	left, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "paged=yes"})
	if err != nil || len(left.Items) != 0 {
		return fmt.Errorf("%d objects are left: %v", len(left.Items), err)
	}
	return nil
}

func conflicts(ctx context.Context, c *clients) error {
	maps := c.typed.CoreV1().ConfigMaps(namespace)
	if _, err := maps.Create(ctx, configMap("counter"), metav1.CreateOptions{}); err != nil {
		return err
	}
	failed := make(chan error, 8)
	for i := range 8 {
		go func() {
			backoff := retry.DefaultRetry
			backoff.Steps = 100
			failed <- retry.RetryOnConflict(backoff, func() error {
				object, err := maps.Get(ctx, "counter", metav1.GetOptions{})
				if err != nil {
					return err
				}
				if object.Data == nil {
					object.Data = map[string]string{}
				}
				object.Data[fmt.Sprint(i)] = "here"
				_, err = maps.Update(ctx, object, metav1.UpdateOptions{})
				return err
			})
		}()
	}
	for range 8 {
		if err := <-failed; err != nil {
			return err
		}
	}
	object, err := maps.Get(ctx, "counter", metav1.GetOptions{})
	if err != nil || len(object.Data) != 8 {
		return fmt.Errorf("%v: %v", object.Data, err)
	}
	return nil
}

func typedErrors(ctx context.Context, c *clients) error {
	maps := c.typed.CoreV1().ConfigMaps(namespace)
	if _, err := maps.Get(ctx, "none", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return fmt.Errorf("not NotFound: %v", err)
	}
	if _, err := maps.Create(ctx, configMap("twice"), metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := maps.Create(ctx, configMap("twice"), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("not AlreadyExists: %v", err)
	}
	if _, err := maps.Create(ctx, configMap("Not A Name"), metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		return fmt.Errorf("not Invalid: %v", err)
	}
	if _, err := c.typed.CoreV1().ConfigMaps("none").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{}); !apierrors.IsNotFound(err) {
		return fmt.Errorf("not NotFound: %v", err)
	}
	wrong := types.UID("wrong")
	err := maps.Delete(ctx, "twice", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}})
	if !apierrors.IsConflict(err) {
		return fmt.Errorf("not Conflict: %v", err)
	}
	// A version that no cluster serves by itself.
	if _, err := c.typed.InternalV1alpha1().StorageVersions().List(ctx, metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		return fmt.Errorf("not NotFound: %v", err)
	}
	// Known from clusters, and not there: refused with what there is instead.
	if _, err := c.typed.AppsV1().DaemonSets(namespace).List(ctx, metav1.ListOptions{}); !apierrors.IsMethodNotSupported(err) {
		return fmt.Errorf("not MethodNotSupported: %v", err)
	}
	return nil
}

func applyConfigurations(ctx context.Context, c *clients) error {
	maps := c.typed.CoreV1().ConfigMaps(namespace)
	apply := func(manager, value string, force bool) (*corev1.ConfigMap, error) {
		wanted := applycore.ConfigMap("applied", namespace).WithData(map[string]string{"k": value})
		return maps.Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: manager, Force: force})
	}
	if _, err := apply("one", "a", false); err != nil {
		return err
	}
	if _, err := apply("two", "b", false); !apierrors.IsConflict(err) {
		return fmt.Errorf("not Conflict: %v", err)
	}
	object, err := apply("two", "b", true)
	if err != nil || object.Data["k"] != "b" {
		return fmt.Errorf("%v: %v", object, err)
	}
	extracted, err := applycore.ExtractConfigMap(object, "two")
	if err != nil || extracted.Data["k"] != "b" {
		return fmt.Errorf("extracted %v: %v", extracted, err)
	}
	return nil
}

func roundTrips(ctx context.Context, c *clients) error {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "trip"}}
	empty := ""
	claim.Spec.StorageClassName = &empty
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("5Gi")}
	made, err := c.typed.CoreV1().PersistentVolumeClaims(namespace).Create(ctx, claim, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	size := made.Spec.Resources.Requests[corev1.ResourceStorage]
	if made.Spec.StorageClassName == nil || *made.Spec.StorageClassName != "" || size.String() != "5Gi" {
		return fmt.Errorf("claim %+v", made.Spec)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "trip"}, Data: map[string][]byte{"b": {0, 255, 1}}}
	stored, err := c.typed.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{})
	if err != nil || string(stored.Data["b"]) != "\x00\xff\x01" {
		return fmt.Errorf("secret %v: %v", stored, err)
	}
	yes, policy := true, storagev1.FileFSGroupPolicy
	driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "trip.example.com"}}
	driver.Spec = storagev1.CSIDriverSpec{AttachRequired: new(bool), PodInfoOnMount: &yes, FSGroupPolicy: &policy}
	gotDriver, err := c.typed.StorageV1().CSIDrivers().Create(ctx, driver, metav1.CreateOptions{})
	if err != nil || *gotDriver.Spec.AttachRequired || !*gotDriver.Spec.PodInfoOnMount {
		return fmt.Errorf("driver %+v: %v", gotDriver, err)
	}
	defer func() { _ = c.typed.StorageV1().CSIDrivers().Delete(ctx, driver.Name, metav1.DeleteOptions{}) }()
	now := metav1.NewMicroTime(time.Unix(1700000000, 123456000).UTC())
	holder, zero := "me", int32(0)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "trip"}}
	lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &now, LeaseTransitions: &zero}
	gotLease, err := c.typed.CoordinationV1().Leases(namespace).Create(ctx, lease, metav1.CreateOptions{})
	if err != nil || !gotLease.Spec.RenewTime.Equal(&now) || gotLease.Spec.LeaseTransitions == nil {
		return fmt.Errorf("lease %+v: %v", gotLease, err)
	}
	return workloadTrips(ctx, c)
}

func pods(ctx context.Context, c *clients) error {
	api := c.typed.CoreV1().Pods(namespace)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "pod-"}}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "host", Command: []string{"true"}}}
	made, err := api.Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: made.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: "nowhere"}}
	if err := api.Bind(ctx, binding, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("bind: %w", err)
	}
	status := `{"status":{"conditions":[{"type":"Ready","status":"False","reason":"Testing"}]}}`
	if _, err := api.Patch(ctx, made.Name, types.StrategicMergePatchType, []byte(status), metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: made.Name}}
	if err := api.EvictV1(ctx, eviction); err != nil {
		return fmt.Errorf("evict: %w", err)
	}
	leaving, err := api.Get(ctx, made.Name, metav1.GetOptions{})
	if err != nil || leaving.DeletionTimestamp == nil || leaving.DeletionGracePeriodSeconds == nil {
		return fmt.Errorf("an evicted pod does not wait for its kubelet: %v", err)
	}
	if err := api.Delete(ctx, made.Name, *metav1.NewDeleteOptions(0)); err != nil {
		return err
	}
	if _, err := api.Get(ctx, made.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return fmt.Errorf("the pod is still there: %v", err)
	}
	return nil
}

func expired(ctx context.Context, c *clients) error {
	watcher, err := c.typed.CoreV1().ConfigMaps(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: "9999999999"})
	if err == nil {
		defer watcher.Stop()
		event := <-watcher.ResultChan()
		if event.Type != watch.Error {
			return fmt.Errorf("a watch from the future reports %v", event)
		}
		err = apierrors.FromObject(event.Object)
	}
	if !apierrors.IsTimeout(err) && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		return fmt.Errorf("a watch from the future says %v", err)
	}
	return nil
}
