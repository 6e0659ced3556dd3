import assert from "node:assert/strict";
import { test } from "node:test";
import type { VolumeGroupSnapshotContent } from "@mooring/store";
import { FROZEN_GROUP_PARAMETERS, GROUP_BEING_DELETED, GROUP_CONTENT_FINALIZER } from "../common/names.ts";
import { decideContent } from "../content/decide.ts";
import { DRIVER, groupContent } from "../testing/objects.ts";
import { GROUP_CONTENT } from "./kind.ts";

type Status = NonNullable<VolumeGroupSnapshotContent["status"]>;

/** The step for a content that is being deleted, together with its VolumeGroupSnapshot. */
function stepFor(lists: Partial<Status>, spec: Partial<VolumeGroupSnapshotContent["spec"]> = {}) {
  const content = groupContent(
    "content",
    spec,
    {
      deletionTimestamp: "2026-01-01T00:00:00Z",
      finalizers: [GROUP_CONTENT_FINALIZER],
      annotations: { [GROUP_BEING_DELETED]: "yes", [FROZEN_GROUP_PARAMETERS]: "{}" },
    },
    { volumeGroupSnapshotHandle: "g", readyToUse: true, ...lists },
  );
  return decideContent(GROUP_CONTENT, {
    ...{ driver: DRIVER, content, contentClass: undefined, namePrefix: "groupsnapshot" },
    ...{ result: undefined, mayExist: false, backoffMs: 0 },
  });
}

const pairs = [
  { volumeHandle: "vol-1", snapshotHandle: "s1" },
  { volumeHandle: "vol-2", snapshotHandle: "s2" },
];
const everything = { do: "delete-data", target: { groupSnapshotId: "g", snapshotIds: ["s1", "s2"] } };

test("members that only the pairs of v1beta1 name are deleted with their group", () => {
  assert.deepEqual(stepFor({ volumeSnapshotHandlePairList: pairs }), everything);
  const groupSnapshotHandles = { volumeGroupSnapshotHandle: "g", volumeSnapshotHandles: ["s1", "s2"] };
  assert.deepEqual(stepFor({}, { source: { groupSnapshotHandles } }), everything);
});

test("when no list names a member any more the driver is asked before it is asked to delete", () => {
  assert.deepEqual(stepFor({}), {
    do: "create-data",
    request: { name: "groupsnapshot-uid-group", sourceVolumeIds: ["vol-1", "vol-2"], parameters: {} },
  });
  // It has returned that there are none.
  assert.deepEqual(stepFor({ volumeSnapshotInfoList: [] }), {
    do: "delete-data",
    target: { groupSnapshotId: "g", snapshotIds: [] },
  });
});
