import { failpoint, isDeleting, isStatus, keyOf, type VolumeGroupSnapshot } from "@mooring/store";
import { Backoff } from "../common/backoff.ts";
import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import { groupOwnerOf } from "../common/group-member.ts";
import { CLAIM_SOURCE_FINALIZER, GROUP_BEING_DELETED, GROUP_FINALIZER } from "../common/names.ts";
import { Remembered } from "../common/remembered.ts";
import { source } from "../common/source.ts";
import { deleteObject, patchMetadata, patchObject, patchStatus } from "../kube/patch.ts";
import { runGroupClaimProtection } from "../snapshot/claim-protection.ts";
import { attemptOf } from "../volume-group/freeze.ts";
import { FREEZE_ATTEMPT } from "../volume-group/names.ts";
import { inParallel, writeMembers } from "./apply-members.ts";
import { decideGroupSnapshot } from "./decide.ts";
import { namedGroupKey } from "./of-volume-group.ts";
import { lookAtGroup } from "./read.ts";
import { type GroupSnapshotStep, type GroupSnapshotView, type ReportStep, report } from "./view.ts";

const gaps = {
  guarded: failpoint("sidecars/group-snapshot/guarded"),
  claimGuarded: failpoint("sidecars/group-snapshot/claim-guarded"),
  contentCreated: failpoint("sidecars/group-snapshot/content-created"),
  askedAgain: failpoint("sidecars/group-snapshot/freeze-asked-again"),
  errorCleared: failpoint("sidecars/group-snapshot/freeze-error-cleared"),
  contentBound: failpoint("sidecars/group-snapshot/content-bound"),
  statusWritten: failpoint("sidecars/group-snapshot/status-written"),
  marked: failpoint("sidecars/group-snapshot/marked-being-deleted"),
  contentDeleted: failpoint("sidecars/group-snapshot/content-deleted"),
  released: failpoint("sidecars/group-snapshot/released"),
};

/** Binds VolumeGroupSnapshots of the driver to contents, makes their members, and undoes that. */
export async function runGroupSnapshot(context: SidecarContext, signal: AbortSignal): Promise<void> {
  const { cluster, hasVolumeGroupKinds } = context;
  const binder = new GroupBinder(context);
  const controller = sidecarController(context, {
    name: "group-snapshot",
    sources: [
      source(cluster.groups, (group) => [keyOf(group)]),
      // Also of groups that are gone: their members have nobody else to take care of them.
      source(cluster.snapshots, (snapshot) => {
        const name = groupOwnerOf(snapshot)?.name;
        return name === undefined ? [] : [keyOf({ metadata: { ...snapshot.metadata, name } })];
      }),
    ],
    watched: [
      ...[cluster.groupContents, cluster.groupClasses, cluster.claims, cluster.volumes, cluster.contents],
      ...(hasVolumeGroupKinds ? [cluster.volumeGroups] : []),
    ],
    // What is installed later is not watched, so it is not looked at either.
    read: (key, from, fresh) => binder.read(key, { ...from, hasVolumeGroupKinds }, fresh),
    isGone: ({ group }: GroupSnapshotView, key) =>
      group === undefined && cluster.snapshots.byIndex("groupName", key).length === 0,
    decide: decideGroupSnapshot,
    apply: (step: GroupSnapshotStep, view, key) => binder.apply(step, view, key),
    ended: (key) => binder.remembered.ended(key),
  });
  await Promise.all([controller.run(signal), runGroupClaimProtection(context, signal)]);
}

class GroupBinder {
  readonly #context: SidecarContext;
  readonly #pauses: Backoff;
  readonly remembered: Remembered;

  constructor(context: SidecarContext) {
    this.#context = context;
    this.#pauses = new Backoff({ ...context.retry, now: context.now });
    this.remembered = new Remembered(
      (key) => context.cluster.groups.get(key)?.metadata.uid,
      (uid) => this.#pauses.reset(uid),
    );
  }

  async read(key: string, from: SidecarContext, fresh: boolean): Promise<GroupSnapshotView> {
    const view = await lookAtGroup(from, key, { fresh });
    const uid = view.group?.metadata.uid ?? "";
    return { ...view, pauseMs: this.#pauses.remaining(uid, requestKeyOf(view)) };
  }

  async apply(step: GroupSnapshotStep, view: GroupSnapshotView, key: string): Promise<void> {
    const { store, cluster, events } = this.#context;
    const { content, group } = view;
    // Members of a group that is gone have nobody else to take care of them.
    if (step.do === "write-members") return writeMembers(this.#context, step.writes);
    if (group === undefined) return;
    const uid = group.metadata.uid ?? "";
    this.remembered.note(key, uid);
    const name = `${group.metadata.namespace}/${group.metadata.name}`;
    switch (step.do) {
      case "add-finalizer":
        await patchMetadata(store, cluster.groups, group, { addFinalizers: [GROUP_FINALIZER] });
        return gaps.guarded();
      case "add-finalizer-to-claims": {
        const [failure] = await inParallel(step.claims, async (claim) => {
          await patchMetadata(store, cluster.claims, claim, { addFinalizers: [CLAIM_SOURCE_FINALIZER] });
          gaps.claimGuarded();
        });
        if (failure === undefined) return;
        // A rule of the cluster forbids it: said, so that a VolumeGroup is not kept frozen for it.
        if (!isStatus(failure, "Forbidden", "Invalid", "BadRequest")) throw failure;
        return this.#report(view, group, report("ClaimNotProtected", failure.message), uid);
      }
      case "ask-again":
        return this.#askAgain(group);
      case "create-content":
        cluster.groupContents.wrote(await store.create(cluster.groupContents.resource, step.content));
        events.event(
          group,
          "Normal",
          "CreatingGroupSnapshot",
          `Waiting for a group snapshot ${name} to be created by the CSI driver.`,
        );
        return gaps.contentCreated();
      case "bind-content": {
        if (content === undefined) return;
        const spec = {
          volumeGroupSnapshotRef: { ...content.spec.volumeGroupSnapshotRef, uid: group.metadata.uid },
          ...(step.className === undefined ? {} : { volumeGroupSnapshotClassName: step.className }),
        };
        const body = { metadata: { annotations: step.annotations }, spec };
        await patchObject(store, cluster.groupContents, content, body);
        return gaps.contentBound();
      }
      case "write-status":
        await this.#writeStatus(group, step.status);
        for (const reason of step.events) events.event(group, "Normal", reason, MESSAGES[reason](name));
        return gaps.statusWritten();
      case "mark-being-deleted": {
        if (content === undefined) return;
        const annotations = { [GROUP_BEING_DELETED]: "yes" };
        await patchMetadata(store, cluster.groupContents, content, { annotations });
        return gaps.marked();
      }
      case "delete-content":
        if (content === undefined) return;
        await deleteObject(store, cluster.groupContents, content);
        return gaps.contentDeleted();
      case "release":
        await patchMetadata(store, cluster.groups, group, { removeFinalizers: [GROUP_FINALIZER] });
        return gaps.released();
      case "report":
        return this.#report(view, group, step, uid);
    }
  }

  /** A new attempt first: whatever was told to the last one is void. Killed in between, it begins one more. */
  async #askAgain(group: VolumeGroupSnapshot): Promise<void> {
    const { cluster, store } = this.#context;
    const annotations = { [FREEZE_ATTEMPT]: String(attemptOf(group) + 1) };
    const asked = await patchMetadata(store, cluster.groups, group, { annotations, guarded: true });
    gaps.askedAgain();
    const { error: _error, ...status } = asked.status ?? {};
    await this.#writeStatus(asked, status);
    gaps.errorCleared();
  }

  async #writeStatus(
    group: VolumeGroupSnapshot,
    status: NonNullable<VolumeGroupSnapshot["status"]>,
  ): Promise<void> {
    const { store, cluster } = this.#context;
    await patchStatus(store, cluster.groups, group, { ...status, error: status.error ?? null });
  }

  /** Conflicts never get here: only what a person can do something about is written down, and once. */
  async #report(
    view: GroupSnapshotView,
    group: VolumeGroupSnapshot,
    { message, ofClaims = [], reason }: ReportStep,
    uid: string,
  ): Promise<void> {
    const { events } = this.#context;
    this.#pauses.fail(uid, requestKeyOf(view));
    events.event(group, "Warning", reason, message);
    for (const of of ofClaims)
      events.event(of.claim, "Warning", reason, `group snapshot ${group.metadata.name}: ${of.message}`);
    if (group.status?.error?.message === message) return;
    const error = { message, time: view.now };
    const readyToUse = isDeleting(group) ? (group.status?.readyToUse ?? false) : false;
    await this.#writeStatus(group, { ...group.status, readyToUse, error });
  }
}

const MESSAGES = {
  GroupSnapshotCreated: (name: string) => `GroupSnapshot ${name} was successfully created by the CSI driver.`,
  GroupSnapshotReady: (name: string) => `GroupSnapshot ${name} is ready to use.`,
};

/** What a complaint depends on: our own status and finalizers are no part of it. */
function requestKeyOf({
  candidates,
  classes,
  content,
  group,
  members,
  owned,
  capable,
  named,
}: GroupSnapshotView): string {
  const pick = (
    object: { metadata: { uid?: string; deletionTimestamp?: string }; spec?: unknown } | undefined,
  ) => object && [object.metadata.uid, object.metadata.deletionTimestamp, object.spec];
  return JSON.stringify([
    capable,
    namedGroupKey(named),
    pick(group),
    pick(content),
    content?.status,
    classes,
    candidates.map(({ claim, volume }) => [pick(claim), claim.status?.phase, pick(volume)]),
    members.map((member) => [pick(member.content), pick(member.snapshot)]),
    owned.snapshots.map(({ metadata }) => metadata.finalizers),
  ]);
}
