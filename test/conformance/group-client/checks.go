package main

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
)

type check struct {
	name string
	run  func(ctx context.Context, c *client) error
}

var checks = []check{
	{"the add-ons' identity has a name, a version and every capability of the service", announced},
	{"an empty group, volumes that join it, leave it and come back", life},
	{"a group of given volumes is described field by field, alike by every call", described},
	{"every group is listed, page by page", pages},
	{"what the document's tables refuse has their codes", refusals},
	{"a refusal names every volume with its reason, and has changed nothing", details},
	{"a group in use stays, and goes with its volumes when it is free", ending},
}

// secret must not be in the log of the driver; the program that runs this one looks.
const secret = `"secrets": {"password": "known-to-nobody"}`

func announced(ctx context.Context, c *client) error {
	who, err := c.call(ctx, "identity.Identity", "GetIdentity", `{}`)
	if err != nil {
		return err
	}
	if version, _ := who["vendor_version"].(string); who["name"] != "csi.mooring.dev" || version == "" {
		return fmt.Errorf("it is %s", who)
	}
	probed, err := c.call(ctx, "identity.Identity", "Probe", `{}`)
	if err != nil || probed["ready"] != true {
		return fmt.Errorf("probe: %s %w", probed, err)
	}
	can, err := c.call(ctx, "identity.Identity", "GetCapabilities", `{}`)
	if err != nil {
		return err
	}
	var has []string
	for _, each := range can.list("capabilities") {
		if group, ok := each["volume_group"].(map[string]any); ok {
			has = append(has, fmt.Sprint(group["type"]))
		}
	}
	sort.Strings(has)
	want := []string{
		"GET_VOLUME_GROUP", "LIMIT_VOLUME_TO_ONE_VOLUME_GROUP", "LIST_VOLUME_GROUPS", "MODIFY_VOLUME_GROUP", "VOLUME_GROUP",
	}
	if !slices.Equal(has, want) {
		return fmt.Errorf("%v is announced, not %v", has, want)
	}
	return nil
}

// makeVolumes gives the ids of new volumes, sorted, and what CreateVolume has responded for each.
func makeVolumes(ctx context.Context, c *client, names ...string) ([]string, map[string]*csi.Volume, error) {
	ids, made := []string{}, map[string]*csi.Volume{}
	for _, name := range names {
		responded, err := c.volumes.CreateVolume(ctx, &csi.CreateVolumeRequest{
			Name:               name,
			CapacityRange:      &csi.CapacityRange{RequiredBytes: 32 << 20},
			VolumeCapabilities: []*csi.VolumeCapability{writer()},
		})
		if err != nil {
			return nil, nil, err
		}
		id := responded.GetVolume().GetVolumeId()
		ids, made[id] = append(ids, id), responded.GetVolume()
	}
	sort.Strings(ids)
	return ids, made, nil
}

func writer() *csi.VolumeCapability {
	return &csi.VolumeCapability{
		AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{}},
		AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
	}
}

func quoted(ids []string) string {
	if len(ids) == 0 {
		return "[]"
	}
	return `["` + strings.Join(ids, `","`) + `"]`
}

func (c *client) groups(ctx context.Context, method, request string, values ...any) (response, error) {
	return c.call(ctx, "volumegroup.Controller", method, fmt.Sprintf(request, values...))
}

// groupOf calls and gives the group of the response.
func (c *client) groupOf(ctx context.Context, method, request string, values ...any) (response, error) {
	responded, err := c.groups(ctx, method, request, values...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return responded.group()
}

func (c *client) create(ctx context.Context, name string, ids ...string) (response, error) {
	return c.groupOf(ctx, "CreateVolumeGroup", `{"name": %q, "volume_ids": %s, %s}`, name, quoted(ids), secret)
}

func (c *client) modify(ctx context.Context, group string, ids ...string) (response, error) {
	return c.groupOf(ctx, "ModifyVolumeGroupMembership",
		`{"volume_group_id": %q, "volume_ids": %s, %s}`, group, quoted(ids), secret)
}

func (c *client) get(ctx context.Context, group string) (response, error) {
	return c.groupOf(ctx, "ControllerGetVolumeGroup", `{"volume_group_id": %q, %s}`, group, secret)
}

// remove fails also when the response has a field.
func (c *client) remove(ctx context.Context, group string) error {
	responded, err := c.groups(ctx, "DeleteVolumeGroup", `{"volume_group_id": %q, %s}`, group, secret)
	if err == nil && len(responded) > 0 {
		return fmt.Errorf("DeleteVolumeGroup responses with fields: %s", responded)
	}
	return err
}

func (c *client) exists(ctx context.Context, volume string) (bool, error) {
	listed, err := c.volumes.ListVolumes(ctx, &csi.ListVolumesRequest{})
	return slices.ContainsFunc(listed.GetEntries(), func(entry *csi.ListVolumesResponse_Entry) bool {
		return entry.GetVolume().GetVolumeId() == volume
	}), err
}

// expect is an error when the members of the group are not these.
func expect(group response, err error, ids ...string) error {
	if err == nil && group.members() != strings.Join(ids, ",") {
		return fmt.Errorf("members %q instead of %q", group.members(), strings.Join(ids, ","))
	}
	return err
}

// refusedAs calls and wants the code.
func (c *client) refusedAs(ctx context.Context, code codes.Code, method, request string, values ...any) error {
	_, err := c.groups(ctx, method, request, values...)
	if wrong := refused(err, code); wrong != nil {
		return fmt.Errorf("%s %s: %w", method, fmt.Sprintf(request, values...), wrong)
	}
	return nil
}
