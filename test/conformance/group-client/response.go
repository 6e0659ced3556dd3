package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/dynamicpb"
)

// response is a message as JSON values, with the names of its fields as the document has them.
type response map[string]any

func responseOf(message *dynamicpb.Message) (response, error) {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(message)
	if err != nil {
		return nil, err
	}
	var values response
	return values, json.Unmarshal(text, &values)
}

// group is VolumeGroup in a response; a response without one is an error.
func (a response) group() (response, error) {
	group, ok := a["volume_group"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("no volume_group in %s", a)
	}
	return group, nil
}

func (a response) id() string {
	id, _ := a["volume_group_id"].(string)
	return id
}

func (a response) list(field string) []response {
	values, _ := a[field].([]any)
	all := make([]response, 0, len(values))
	for _, value := range values {
		if each, ok := value.(map[string]any); ok {
			all = append(all, each)
		}
	}
	return all
}

// members are the ids of the volumes of a group, sorted.
func (a response) members() string {
	var ids []string
	for _, volume := range a.list("volumes") {
		id, _ := volume["volume_id"].(string)
		ids = append(ids, id)
	}
	sort.Strings(ids)
	return strings.Join(ids, ",")
}

func (a response) String() string {
	text, _ := json.Marshal(map[string]any(a))
	return string(text)
}

func (a response) equal(b response) bool { return a.String() == b.String() }

// refused is nil when err has the code and says something, else what is wrong with it.
func refused(err error, code codes.Code) error {
	switch responded := status.Convert(err); {
	case err == nil:
		return fmt.Errorf("it was served; %v was to be responded", code)
	case responded.Code() != code:
		return fmt.Errorf("%v (%d) instead of %v: %s", responded.Code(), responded.Code(), code, responded.Message())
	case responded.Message() == "":
		return errors.New("the error says nothing")
	}
	return nil
}

// violations are the volumes that a refusal names in its details (google.rpc.BadRequest): "volume_ids[0] REASON".
func violations(err error) (all []string) {
	for _, detail := range status.Convert(err).Details() {
		if bad, ok := detail.(*errdetails.BadRequest); ok {
			for _, each := range bad.GetFieldViolations() {
				all = append(all, each.GetField()+" "+each.GetReason())
			}
		}
	}
	return all
}
