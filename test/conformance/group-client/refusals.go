package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
)

func refusals(ctx context.Context, c *client) error {
	ids, _, err := makeVolumes(ctx, c, "refused-a", "refused-b", "refused-c")
	if err != nil {
		return err
	}
	group, err := c.create(ctx, "refused", ids[0])
	if err != nil {
		return err
	}
	const small = `{"name": "small", "parameters": {"maxVolumes": "1"}, "volume_ids": %s}`
	full, err := c.groupOf(ctx, "CreateVolumeGroup", small, quoted(ids[1:2]))
	if err != nil {
		return err
	}
	id := group.id()
	for _, each := range []struct {
		code            codes.Code
		method, request string
	}{
		{codes.InvalidArgument, "CreateVolumeGroup", `{}`},
		{codes.InvalidArgument, "CreateVolumeGroup", `{"name": "odd", "parameters": {"colour": "blue"}}`},
		{codes.AlreadyExists, "CreateVolumeGroup", `{"name": "refused", "parameters": {"maxVolumes": "7"}}`},
		{codes.FailedPrecondition, "CreateVolumeGroup", fmt.Sprintf(`{"name": "both", "volume_ids": %s}`, quoted(ids))},
		{codes.NotFound, "CreateVolumeGroup", `{"name": "none", "volume_ids": ["no-such-volume"]}`},
		{codes.InvalidArgument, "ModifyVolumeGroupMembership", `{}`},
		{codes.NotFound, "ModifyVolumeGroupMembership", `{"volume_group_id": "no-such-group"}`},
		{codes.NotFound, "ModifyVolumeGroupMembership",
			fmt.Sprintf(`{"volume_group_id": %q, "volume_ids": ["no-such-volume"]}`, id)},
		{codes.ResourceExhausted, "ModifyVolumeGroupMembership",
			fmt.Sprintf(`{"volume_group_id": %q, "volume_ids": %s}`, full.id(), quoted(ids[1:]))},
		{codes.InvalidArgument, "DeleteVolumeGroup", `{}`},
		{codes.InvalidArgument, "ControllerGetVolumeGroup", `{}`},
		{codes.NotFound, "ControllerGetVolumeGroup", `{"volume_group_id": "no-such-group"}`},
		{codes.InvalidArgument, "ListVolumeGroups", `{"max_entries": -1}`},
		{codes.Aborted, "ListVolumeGroups", `{"starting_token": "none of yours"}`},
	} {
		if err := c.refusedAs(ctx, each.code, each.method, "%s", each.request); err != nil {
			return err
		}
	}
	if err := c.remove(ctx, "no-such-group"); err != nil {
		return fmt.Errorf("a group that is gone is deleted: %w", err)
	}
	after, err := c.get(ctx, id)
	if err := expect(after, err, ids[0]); err != nil {
		return err
	}
	return errors.Join(c.remove(ctx, id), c.remove(ctx, full.id()))
}

func details(ctx context.Context, c *client) error {
	ids, _, err := makeVolumes(ctx, c, "details-a", "details-b")
	if err != nil {
		return err
	}
	holder, err := c.create(ctx, "holder", ids[1])
	if err != nil {
		return err
	}
	asker, err := c.create(ctx, "asker", ids[0])
	if err != nil {
		return err
	}
	_, err = c.modify(ctx, asker.id(), "gone", ids[0], ids[1])
	if wrong := refused(err, codes.NotFound); wrong != nil {
		return wrong
	}
	want := []string{"volume_ids[0] VOLUME_NOT_FOUND", "volume_ids[2] VOLUME_IN_ANOTHER_GROUP"}
	if named := violations(errors.Unwrap(err)); !slices.Equal(named, want) {
		return fmt.Errorf("%v is named, not %v", named, want)
	}
	now, err := c.get(ctx, asker.id())
	if err := expect(now, err, ids[0]); err != nil {
		return err
	}
	return errors.Join(c.remove(ctx, asker.id()), c.remove(ctx, holder.id()))
}
