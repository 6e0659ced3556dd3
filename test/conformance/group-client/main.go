// Calls the volume group service of a driver as a client of others does: with the messages of the CSI-Addons documents, as text,
// and the Go module that CSI publishes. `group-client SOCKET` says what it noticed, and ends with 1 when
// a check failed.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

type client struct {
	*wire
	volumes csi.ControllerClient
	nodes   csi.NodeClient
}

func connect(ctx context.Context, socket string) (*client, error) {
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	read, err := readDocuments(ctx, conn)
	if err != nil {
		return nil, err
	}
	return &client{read, csi.NewControllerClient(conn), csi.NewNodeClient(conn)}, nil
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: group-client SOCKET")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c, err := connect(ctx, os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot connect:", err)
		os.Exit(2)
	}
	failed := false
	for _, each := range checks {
		if err := each.run(ctx, c); err != nil {
			failed = true
			fmt.Printf("not ok - %s: %v\n", each.name, err)
			continue
		}
		fmt.Println("ok -", each.name)
	}
	if failed {
		os.Exit(1)
	}
}
