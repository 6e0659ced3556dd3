import { failpoint, isDeleting, isStatus, type VolumeGroupSnapshot } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { CLAIM_SOURCE_FINALIZER, GROUP_BEING_DELETED, GROUP_FINALIZER } from "../common/names.ts";
import type { ObjectBackoff } from "../common/object-backoff.ts";
import { deleteObject, patchMetadata, patchObject, patchStatus } from "../kube/patch.ts";
import { attemptOf } from "../volume-group/freeze.ts";
import { FREEZE_ATTEMPT } from "../volume-group/names.ts";
import { inParallel, writeMembers } from "./apply-members.ts";
import { groupRequestKey } from "./request-key.ts";
import { type GroupSnapshotStep, type GroupSnapshotView, type ReportStep, report } from "./view.ts";

const failpoints = {
  finalizerAdded: failpoint("sidecars/group-snapshot/finalizer-added"),
  claimProtected: failpoint("sidecars/group-snapshot/claim-protected"),
  contentCreated: failpoint("sidecars/group-snapshot/content-created"),
  askedAgain: failpoint("sidecars/group-snapshot/freeze-asked-again"),
  errorCleared: failpoint("sidecars/group-snapshot/freeze-error-cleared"),
  contentBound: failpoint("sidecars/group-snapshot/content-bound"),
  statusWritten: failpoint("sidecars/group-snapshot/status-written"),
  marked: failpoint("sidecars/group-snapshot/marked-being-deleted"),
  contentDeleted: failpoint("sidecars/group-snapshot/content-deleted"),
  released: failpoint("sidecars/group-snapshot/released"),
};

const MESSAGES = {
  GroupSnapshotCreated: (name: string) => `GroupSnapshot ${name} was successfully created by the CSI driver.`,
  GroupSnapshotReady: (name: string) => `GroupSnapshot ${name} is ready to use.`,
};

/** Makes one externally visible change for a group snapshot, or for its members. */
export async function applyGroup(
  context: SidecarContext,
  backoff: ObjectBackoff,
  step: GroupSnapshotStep,
  view: GroupSnapshotView,
): Promise<void> {
  const { store, cluster, events } = context;
  const { content, group } = view;
  // Members of a group that is gone have nobody else to take care of them.
  if (step.do === "write-members") return writeMembers(context, step.writes);
  if (group === undefined) return;
  const name = `${group.metadata.namespace}/${group.metadata.name}`;
  switch (step.do) {
    case "add-finalizer":
      await patchMetadata(store, cluster.groups, group, { addFinalizers: [GROUP_FINALIZER] });
      return failpoints.finalizerAdded();
    case "add-finalizer-to-claims": {
      const [failure] = await inParallel(step.claims, async (claim) => {
        await patchMetadata(store, cluster.claims, claim, { addFinalizers: [CLAIM_SOURCE_FINALIZER] });
        failpoints.claimProtected();
      });
      if (failure === undefined) return;
      // A rule of the cluster forbids it: reported, so that a VolumeGroup is not kept frozen for it.
      if (!isStatus(failure, "Forbidden", "Invalid", "BadRequest")) throw failure;
      backoff.fail(group, groupRequestKey(view));
      return writeProblem(context, view, group, report("ClaimNotProtected", failure.message));
    }
    case "ask-again":
      return askAgain(context, group);
    case "create-content":
      cluster.groupContents.wrote(await store.create(cluster.groupContents.resource, step.content));
      events.event(
        group,
        "Normal",
        "CreatingGroupSnapshot",
        `Waiting for a group snapshot ${name} to be created by the CSI driver.`,
      );
      return failpoints.contentCreated();
    case "bind-content": {
      if (content === undefined) return;
      const spec = {
        volumeGroupSnapshotRef: { ...content.spec.volumeGroupSnapshotRef, uid: group.metadata.uid },
        ...(step.className === undefined ? {} : { volumeGroupSnapshotClassName: step.className }),
      };
      const body = { metadata: { annotations: step.annotations }, spec };
      await patchObject(store, cluster.groupContents, content, body);
      return failpoints.contentBound();
    }
    case "write-status":
      await writeStatus(context, group, step.status);
      for (const reason of step.events) events.event(group, "Normal", reason, MESSAGES[reason](name));
      return failpoints.statusWritten();
    case "mark-being-deleted": {
      if (content === undefined) return;
      const annotations = { [GROUP_BEING_DELETED]: "yes" };
      await patchMetadata(store, cluster.groupContents, content, { annotations });
      return failpoints.marked();
    }
    case "delete-content":
      if (content === undefined) return;
      await deleteObject(store, cluster.groupContents, content);
      return failpoints.contentDeleted();
    case "release":
      await patchMetadata(store, cluster.groups, group, { removeFinalizers: [GROUP_FINALIZER] });
      return failpoints.released();
    case "report":
      backoff.fail(group, groupRequestKey(view));
      return writeProblem(context, view, group, step);
  }
}

/** A new attempt first: whatever was written for the last one is void. Killed in between, it begins one more. */
async function askAgain(context: SidecarContext, group: VolumeGroupSnapshot): Promise<void> {
  const { cluster, store } = context;
  const annotations = { [FREEZE_ATTEMPT]: String(attemptOf(group) + 1) };
  const asked = await patchMetadata(store, cluster.groups, group, { annotations, checkVersion: true });
  failpoints.askedAgain();
  const { error: _error, ...status } = asked.status ?? {};
  await writeStatus(context, asked, status);
  failpoints.errorCleared();
}

async function writeStatus(
  { cluster, store }: SidecarContext,
  group: VolumeGroupSnapshot,
  status: NonNullable<VolumeGroupSnapshot["status"]>,
): Promise<void> {
  await patchStatus(store, cluster.groups, group, { ...status, error: status.error ?? null });
}

/** Conflicts never get here: only what an operator can do something about is written down, and once. */
async function writeProblem(
  context: SidecarContext,
  view: GroupSnapshotView,
  group: VolumeGroupSnapshot,
  { message, ofClaims = [], reason }: ReportStep,
): Promise<void> {
  const { events } = context;
  events.event(group, "Warning", reason, message);
  for (const of of ofClaims)
    events.event(of.claim, "Warning", reason, `group snapshot ${group.metadata.name}: ${of.message}`);
  if (group.status?.error?.message === message) return;
  const error = { message, time: view.now };
  const readyToUse = isDeleting(group) ? (group.status?.readyToUse ?? false) : false;
  await writeStatus(context, group, { ...group.status, readyToUse, error });
}
