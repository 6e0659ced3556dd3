package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

type counts struct{ added, updated, deleted atomic.Int32 }

func (n *counts) handler(mine func(any) bool) cache.ResourceEventHandler {
	return cache.FilteringResourceEventHandler{FilterFunc: mine, Handler: cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { n.added.Add(1) },
		UpdateFunc: func(any, any) { n.updated.Add(1) },
		DeleteFunc: func(any) { n.deleted.Add(1) },
	}}
}

// The same objects through typed, dynamic and metadata-only informers.
func typedInformer(ctx context.Context, c *clients) error {
	resource := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	mine := func(object any) bool {
		accessor, ok := object.(metav1.Object)
		return ok && accessor.GetLabels()["informed"] == "yes"
	}
	typed := informers.NewSharedInformerFactoryWithOptions(c.typed, 0, informers.WithNamespace(namespace))
	dynamic := dynamicinformer.NewFilteredDynamicSharedInformerFactory(c.dynamic, 0, namespace, nil)
	metadata := metadatainformer.NewFilteredSharedInformerFactory(c.metadata, 0, namespace, nil)
	all := map[string]cache.SharedIndexInformer{
		"typed":    typed.Core().V1().ConfigMaps().Informer(),
		"dynamic":  dynamic.ForResource(resource).Informer(),
		"metadata": metadata.ForResource(resource).Informer(),
	}
	seen := map[string]*counts{}
	for name, informer := range all {
		seen[name] = &counts{}
		if _, err := informer.AddEventHandler(seen[name].handler(mine)); err != nil {
			return err
		}
		go informer.RunWithContext(ctx)
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			return errors.New(name + " does not sync")
		}
	}
	maps := c.typed.CoreV1().ConfigMaps(namespace)
	for i := range 30 {
		object := configMap(fmt.Sprintf("informed-%d", i))
		object.Labels = map[string]string{"informed": "yes"}
		made, err := maps.Create(ctx, object, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		made.Data = map[string]string{"changed": "yes"}
		if _, err := maps.Update(ctx, made, metav1.UpdateOptions{}); err != nil {
			return err
		}
		if err := maps.Delete(ctx, object.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	for name, n := range seen {
		err := poll(ctx, name+" sees everything", func() (bool, error) {
			return n.added.Load() == 30 && n.updated.Load() == 30 && n.deleted.Load() == 30, nil
		})
		if err != nil {
			return fmt.Errorf("%w: %d %d %d", err, n.added.Load(), n.updated.Load(), n.deleted.Load())
		}
	}
	return nil
}

func namespaceGoes(ctx context.Context, c *clients) error {
	if err := c.typed.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}); err != nil {
		return err
	}
	limited, stop := context.WithTimeout(ctx, 30*time.Second)
	defer stop()
	return poll(limited, "the namespace is gone", func() (bool, error) {
		_, err := c.typed.CoreV1().Namespaces().Get(limited, namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
}
