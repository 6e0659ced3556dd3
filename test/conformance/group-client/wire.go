package main

import (
	"context"
	"embed"
	"fmt"
	"io"
	"time"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/linker"
	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

//go:embed identity.proto volumegroup.proto
var documents embed.FS

// What the document imports; the messages come from CSI's own Go module.
const csiPath = "github.com/container-storage-interface/spec/lib/go/csi/csi.proto"

// wire calls the services of the documents by their text alone.
type wire struct {
	conn  *grpc.ClientConn
	files linker.Files
}

func readDocuments(ctx context.Context, conn *grpc.ClientConn) (*wire, error) {
	sources := protocompile.ResolverFunc(func(path string) (protocompile.SearchResult, error) {
		if path != csiPath {
			return protocompile.SearchResult{}, fmt.Errorf("%s is not known", path)
		}
		file := protodesc.ToFileDescriptorProto(csi.File_csi_proto)
		file.Name = proto.String(csiPath)
		return protocompile.SearchResult{Proto: file}, nil
	})
	texts := protocompile.SourceResolver{
		Accessor: func(path string) (io.ReadCloser, error) { return documents.Open(path) },
	}
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(protocompile.CompositeResolver{&texts, sources}),
	}
	files, err := compiler.Compile(ctx, "identity.proto", "volumegroup.proto")
	return &wire{conn, files}, err
}

func (w *wire) rpc(service, method string) (protoreflect.MethodDescriptor, error) {
	name := protoreflect.FullName(service + "." + method)
	found, err := w.files.AsResolver().FindDescriptorByName(name)
	if rpc, ok := found.(protoreflect.MethodDescriptor); err == nil && ok {
		return rpc, nil
	}
	return nil, fmt.Errorf("the document has no %s", name)
}

// call sends a request in proto3's JSON and gives the response back in JSON values, with the names of the document. An
// response with a field that the document does not have is an error.
func (w *wire) call(ctx context.Context, service, method, request string) (response, error) {
	rpc, err := w.rpc(service, method)
	if err != nil {
		return nil, err
	}
	in, out := dynamicpb.NewMessage(rpc.Input()), dynamicpb.NewMessage(rpc.Output())
	if err := protojson.Unmarshal([]byte(request), in); err != nil {
		return nil, err
	}
	limited, stop := context.WithTimeout(ctx, 20*time.Second)
	defer stop()
	path := fmt.Sprintf("/%s/%s", service, method)
	if err := w.conn.Invoke(limited, path, in, out); err != nil {
		return nil, err
	}
	if where := unknownIn(out); where != "" {
		return nil, fmt.Errorf("%s responses with a field that is not in the document, in %s", method, where)
	}
	return responseOf(out)
}

// unknownIn names the first message that has bytes of a field that its type does not have.
func unknownIn(message protoreflect.Message) (where string) {
	if len(message.GetUnknown()) > 0 {
		return string(message.Descriptor().FullName())
	}
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap() || field.Message() == nil:
		case field.IsList():
			for index := range value.List().Len() {
				if where == "" {
					where = unknownIn(value.List().Get(index).Message())
				}
			}
		default:
			where = unknownIn(value.Message())
		}
		return where == ""
	})
	return where
}
