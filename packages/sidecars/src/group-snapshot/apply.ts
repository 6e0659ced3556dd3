import { defined, failpoint, isDeleting, type VolumeGroupSnapshot } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { GROUP_BEING_CREATED, GROUP_BEING_DELETED, GROUP_FINALIZER } from "../common/names.ts";
import type { ObjectBackoff } from "../common/object-backoff.ts";
import { SnapshotEvents, writeSnapshotError, writeSnapshotStatus } from "../common/snapshot-writes.ts";
import { FREEZE_ATTEMPT } from "../common/volume-group-names.ts";
import { deleteObject, patchMetadata, patchObject } from "../kube/patch.ts";
import { attemptOf } from "../volume-group/freeze.ts";
import { writeMembers } from "./apply-members.ts";
import { groupRequestKey } from "./request-key.ts";
import type { GroupSnapshotEvent, GroupSnapshotStep, GroupSnapshotView, ReportStep } from "./view.ts";

const failpoints = { askedAgain: failpoint("sidecars/group-snapshot/freeze-asked-again") };

/** Makes one externally visible change for a group snapshot, or for its members. */
export async function applyGroup(
  context: SidecarContext,
  backoff: ObjectBackoff,
  step: GroupSnapshotStep,
  view: GroupSnapshotView,
): Promise<void> {
  const { store, cluster } = context;
  const { content, group } = view;
  // No other controller takes care of the members of a group that is gone.
  if (step.do === "write-members") return writeMembers(context, step.writes);
  if (group === undefined) return;
  const events = new SnapshotEvents<GroupSnapshotEvent>(context.events, "GroupSnapshot");
  switch (step.do) {
    case "add-finalizer":
      await patchMetadata(store, cluster.groups, group, { addFinalizers: [GROUP_FINALIZER] });
      return;
    case "ask-again":
      return askAgain(context, group);
    case "create-content":
      cluster.groupContents.wrote(await store.create(cluster.groupContents.resource, step.content));
      return;
    case "bind-content": {
      if (content === undefined) return;
      const spec = {
        volumeGroupSnapshotRef: { ...content.spec.volumeGroupSnapshotRef, uid: group.metadata.uid },
        ...defined({ volumeGroupSnapshotClassName: step.className }),
      };
      const body = { metadata: { annotations: step.annotations }, spec };
      await patchObject(store, cluster.groupContents, content, body);
      return;
    }
    case "write-status":
      await writeSnapshotStatus(store, cluster.groups, group, step.status);
      if (step.creating) events.creating(group);
      events.reached(group, step.events);
      return;
    case "mark-being-deleted": {
      if (content === undefined) return;
      // Without a handle the mark of the create call is all that is known of its data.
      const settled =
        content.status?.volumeGroupSnapshotHandle === undefined ? {} : { [GROUP_BEING_CREATED]: null };
      const annotations = { [GROUP_BEING_DELETED]: "yes", ...settled };
      await patchMetadata(store, cluster.groupContents, content, { annotations });
      return;
    }
    case "delete-content":
      if (content === undefined) return;
      await deleteObject(store, cluster.groupContents, content);
      return;
    case "release":
      await patchMetadata(store, cluster.groups, group, { removeFinalizers: [GROUP_FINALIZER] });
      return;
    case "report":
      backoff.fail(group, groupRequestKey(view));
      return writeProblem(context, view, group, step);
  }
}

/**
 * Counts the attempt up first: whatever was written for the last one is void. A process that is killed in between begins
 * one more.
 */
async function askAgain(context: SidecarContext, group: VolumeGroupSnapshot): Promise<void> {
  const { cluster, store } = context;
  const annotations = { [FREEZE_ATTEMPT]: String(attemptOf(group) + 1) };
  const asked = await patchMetadata(store, cluster.groups, group, { annotations, checkVersion: true });
  failpoints.askedAgain();
  if (asked.status?.error === undefined) return;
  const { error: _error, ...status } = asked.status;
  await writeSnapshotStatus(store, cluster.groups, asked, status);
}

/** Records a failure in the status; conflicts, which are none, never come here. */
async function writeProblem(
  context: SidecarContext,
  view: GroupSnapshotView,
  group: VolumeGroupSnapshot,
  { message, ofClaims = [], reason }: ReportStep,
): Promise<void> {
  const { cluster, events, store } = context;
  events.event(group, "Warning", reason, message);
  for (const of of ofClaims)
    events.event(of.claim, "Warning", reason, `group snapshot ${group.metadata.name}: ${of.message}`);
  const readyToUse = isDeleting(group) && group.status?.readyToUse === true;
  await writeSnapshotError(store, cluster.groups, group, { message, time: view.now, readyToUse });
}
