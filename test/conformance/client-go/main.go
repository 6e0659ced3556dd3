// Drives a Kubernetes API server with unmodified client-go, the way controllers do, and says what it noticed.
// Every check runs against $KUBECONFIG in a namespace of its own; the exit code is 1 when one of them fails.
package main

import (
	"context"
	"fmt"
	"os"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const namespace = "client-go"

type clients struct {
	config   *rest.Config
	typed    *kubernetes.Clientset
	dynamic  dynamic.Interface
	metadata metadata.Interface
}

type check struct {
	name string
	run  func(ctx context.Context, c *clients) error
}

func connect() (*clients, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 500, 1000
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	meta, err := metadata.NewForConfig(config)
	return &clients{config, typed, dyn, meta}, err
}

func main() {
	c, err := connect()
	if err != nil {
		fmt.Println("cannot connect:", err)
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := c.typed.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		fmt.Println("cannot create the namespace:", err)
		os.Exit(2)
	}
	var failures atomic.Int32
	var group sync.WaitGroup
	results := make([]string, len(checks))
	for i, each := range checks {
		group.Add(1)
		go func() {
			defer group.Done()
			limited, stop := context.WithTimeout(ctx, time.Minute)
			defer stop()
			if err := each.run(limited, c); err != nil {
				failures.Add(1)
				results[i] = fmt.Sprintf("not ok - %s: %v", each.name, err)
				return
			}
			results[i] = "ok - " + each.name
		}()
	}
	group.Wait()
	sort.Strings(results)
	for _, line := range results {
		fmt.Println(line)
	}
	if err := namespaceGoes(ctx, c); err != nil {
		failures.Add(1)
		fmt.Println("not ok - the namespace goes with everything in it:", err)
	} else {
		fmt.Println("ok - the namespace goes with everything in it")
	}
	if failures.Load() > 0 {
		os.Exit(1)
	}
}

// poll waits until done says so; what is named in the error when the time is over.
func poll(ctx context.Context, what string, done func() (bool, error)) error {
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited in vain: %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
