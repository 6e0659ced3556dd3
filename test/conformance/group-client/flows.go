package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
)

func life(ctx context.Context, c *client) error {
	empty, err := c.create(ctx, "life")
	if err := expect(empty, err); err != nil {
		return err
	}
	again, err := c.create(ctx, "life")
	if err != nil || !again.equal(empty) {
		return fmt.Errorf("the same name again: %v %w", again, err)
	}
	ids, _, err := makeVolumes(ctx, c, "life-a", "life-b", "life-c")
	if err != nil {
		return err
	}
	// The set is the membership: what is named joins, what is not leaves, nothing at all empties the group.
	for _, set := range [][]string{ids[:1], ids, ids, ids[1:], nil, ids[2:]} {
		changed, err := c.modify(ctx, empty.id(), set...)
		if err := expect(changed, err, set...); err != nil {
			return err
		}
		seen, err := c.get(ctx, empty.id())
		if err != nil || !seen.equal(changed) {
			return fmt.Errorf("Get says %v, Modify said %v: %w", seen, changed, err)
		}
	}
	for _, id := range ids {
		if there, err := c.exists(ctx, id); err != nil || !there {
			return fmt.Errorf("volume %s went with its membership: %w", id, err)
		}
	}
	if err := errors.Join(c.remove(ctx, empty.id()), c.remove(ctx, empty.id())); err != nil {
		return err
	}
	return c.refusedAs(ctx, codes.NotFound, "ControllerGetVolumeGroup", `{"volume_group_id": %q}`, empty.id())
}

func described(ctx context.Context, c *client) error {
	ids, made, err := makeVolumes(ctx, c, "described-a", "described-b")
	if err != nil {
		return err
	}
	created, err := c.create(ctx, "described", ids...)
	if err := expect(created, err, ids...); err != nil {
		return err
	}
	if id := created.id(); id == "" || id == "described" {
		return fmt.Errorf("the id %q is not the plugin's", id)
	}
	for _, volume := range created.list("volumes") {
		id, _ := volume["volume_id"].(string)
		if size := strconv.FormatInt(made[id].GetCapacityBytes(), 10); volume["capacity_bytes"] != size {
			return fmt.Errorf("%s has capacity_bytes %v instead of %s", id, volume["capacity_bytes"], size)
		}
	}
	got, err := c.get(ctx, created.id())
	if err != nil || !got.equal(created) {
		return fmt.Errorf("Get says %v, Create said %v: %w", got, created, err)
	}
	listed, err := c.groups(ctx, "ListVolumeGroups", `{}`)
	if err != nil {
		return err
	}
	for _, entry := range listed.list("entries") {
		group, err := entry.group()
		if err != nil {
			return err
		}
		if group.id() == created.id() && group.equal(created) {
			return c.remove(ctx, created.id())
		}
	}
	return fmt.Errorf("List does not say %v: %v", created, listed)
}

func pages(ctx context.Context, c *client) error {
	var want, seen []string
	for index := range 5 {
		group, err := c.create(ctx, fmt.Sprintf("page-%d", index))
		if err != nil {
			return err
		}
		want = append(want, group.id())
	}
	token := ""
	for calls := 0; calls == 0 || token != ""; calls++ {
		page, err := c.groups(ctx, "ListVolumeGroups",
			`{"max_entries": 2, "starting_token": %q, %s}`, token, secret)
		if err != nil {
			return err
		}
		entries := page.list("entries")
		if len(entries) > 2 || calls > 5 {
			return fmt.Errorf("page %d has %d entries", calls, len(entries))
		}
		for _, entry := range entries {
			group, err := entry.group()
			if err != nil {
				return err
			}
			seen = append(seen, group.id())
		}
		token, _ = page["next_token"].(string)
	}
	slices.Sort(want)
	slices.Sort(seen)
	if !slices.Equal(want, seen) {
		return fmt.Errorf("listed %v of %v", seen, want)
	}
	for _, id := range want {
		if err := c.remove(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

func ending(ctx context.Context, c *client) error {
	ids, _, err := makeVolumes(ctx, c, "ending-a", "ending-b")
	if err != nil {
		return err
	}
	group, err := c.create(ctx, "ending", ids...)
	if err != nil {
		return err
	}
	// A member is not deleted alone, and a group of which one is published not at all.
	_, err = c.volumes.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: ids[0]})
	if wrong := refused(err, codes.FailedPrecondition); wrong != nil {
		return fmt.Errorf("DeleteVolume of a member: %w", wrong)
	}
	node, err := c.nodes.NodeGetInfo(ctx, &csi.NodeGetInfoRequest{})
	if err != nil {
		return err
	}
	publish := &csi.ControllerPublishVolumeRequest{
		VolumeId: ids[0], NodeId: node.GetNodeId(), VolumeCapability: writer(),
	}
	if _, err := c.volumes.ControllerPublishVolume(ctx, publish); err != nil {
		return err
	}
	inUse := c.refusedAs(ctx, codes.FailedPrecondition, "DeleteVolumeGroup", `{"volume_group_id": %q}`, group.id())
	still, err := c.get(ctx, group.id())
	if err := errors.Join(inUse, expect(still, err, ids...)); err != nil {
		return err
	}
	unpublish := &csi.ControllerUnpublishVolumeRequest{VolumeId: ids[0], NodeId: node.GetNodeId()}
	if _, err := c.volumes.ControllerUnpublishVolume(ctx, unpublish); err != nil {
		return err
	}
	if err := errors.Join(c.remove(ctx, group.id()), c.remove(ctx, group.id())); err != nil {
		return err
	}
	for _, id := range ids {
		if there, err := c.exists(ctx, id); err != nil || there {
			return fmt.Errorf("volume %s is left of its group: %w", id, err)
		}
	}
	return nil
}
