import { failpoint, isDeleting, type VolumeGroupSnapshotContent } from "@mooring/store";
import { ContentCalls } from "../common/content-calls.ts";
import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import { GROUP_BEING_CREATED, GROUP_CONTENT_FINALIZER, RESERVED_PARAMETERS } from "../common/names.ts";
import { Remembered } from "../common/remembered.ts";
import { source } from "../common/source.ts";
import { rfc3339 } from "../common/time.ts";
import { patchMetadata, patchStatus } from "../kube/patch.ts";
import { readSecret, readSecretIfAny } from "../secrets/read.ts";
import { createGroupSnapshot, deleteGroupSnapshot, inspectGroupSnapshot } from "./calls.ts";
import { isCutReady } from "./cut-group.ts";
import {
  decideGroupContent,
  type GroupAnswer,
  type GroupContentStep,
  type GroupContentView,
  type GroupCutArguments,
  groupContentRequestKey,
} from "./decide.ts";
import { statusAfter } from "./status.ts";

export interface GroupSnapshotOptions {
  /** Group snapshots are called `<prefix>-<uid>` on the storage system; default `groupsnapshot`. */
  namePrefix: string;
  /** Tells the driver the names of the group snapshot and its content. */
  extraCreateMetadata: boolean;
}

const gaps = {
  guarded: failpoint("sidecars/group-snapshot-content/guarded"),
  marked: failpoint("sidecars/group-snapshot-content/marked-being-created"),
  cut: failpoint("sidecars/group-snapshot-content/cut"),
  statusWritten: failpoint("sidecars/group-snapshot-content/status-written"),
  cleared: failpoint("sidecars/group-snapshot-content/cleared-being-created"),
  dataDeleted: failpoint("sidecars/group-snapshot-content/data-deleted"),
  released: failpoint("sidecars/group-snapshot-content/released"),
};

/** Has the driver cut and delete what VolumeGroupSnapshotContents stand for. */
export async function runGroupSnapshotContent(
  context: SidecarContext,
  given: Partial<GroupSnapshotOptions>,
  signal: AbortSignal,
): Promise<void> {
  const options = { namePrefix: "groupsnapshot", extraCreateMetadata: false, ...given };
  const cutter = new GroupCutter(context, options, signal);
  const { cluster } = context;
  await cluster.groupContents.informer.synced(signal);
  // What an earlier life has left marked may have been cut.
  for (const { metadata } of cluster.groupContents.list())
    if (metadata.annotations?.[GROUP_BEING_CREATED] !== undefined)
      cutter.calls.uncertainty.note(metadata.uid ?? "");
  await sidecarController(context, {
    name: "group-snapshot-content",
    sources: [source(cluster.groupContents, ({ metadata }) => [metadata.name])],
    watched: [cluster.groupClasses],
    read: (name, from, fresh) => cutter.read(name, from, fresh),
    isGone: ({ content }: GroupContentView) => content === undefined,
    decide: decideGroupContent,
    apply: (step: GroupContentStep, view, name) => cutter.apply(step, view, name),
    ended: (name) => cutter.remembered.ended(name),
  }).run(signal);
}

class GroupCutter {
  readonly #context: SidecarContext;
  readonly #options: GroupSnapshotOptions;
  readonly calls: ContentCalls<VolumeGroupSnapshotContent, GroupAnswer>;
  readonly remembered: Remembered;

  constructor(context: SidecarContext, options: GroupSnapshotOptions, signal: AbortSignal) {
    this.#context = context;
    this.#options = options;
    this.calls = new ContentCalls(context, context.cluster.groupContents, signal);
    this.remembered = new Remembered(
      (name) => context.cluster.groupContents.get(name)?.metadata.uid,
      (uid) => this.calls.forget(uid),
    );
  }

  async read(name: string, { cluster, driver }: SidecarContext, fresh: boolean): Promise<GroupContentView> {
    const content = fresh ? await cluster.groupContents.refresh(name) : cluster.groupContents.get(name);
    const uid = content?.metadata.uid ?? "";
    const view: GroupContentView = {
      driver: driver.info.name,
      content,
      groupClass: cluster.groupClasses.get(content?.spec.volumeGroupSnapshotClassName ?? ""),
      namePrefix: this.#options.namePrefix,
      answer: this.calls.answers.get(uid),
      mayExist: this.calls.uncertainty.has(uid),
      pauseMs: 0,
    };
    const deleting = content !== undefined && isDeleting(content);
    const handle = content?.status?.volumeGroupSnapshotHandle ?? "";
    const polled = deleting ? 0 : this.calls.polls.remaining(uid, handle);
    const paused = this.calls.pauses.remaining(uid, groupContentRequestKey(view));
    return { ...view, pauseMs: Math.max(polled, paused) };
  }

  async apply(step: GroupContentStep, view: GroupContentView, name: string): Promise<void> {
    const { driver, store, cluster } = this.#context;
    const { content } = view;
    if (content === undefined) return;
    const uid = content.metadata.uid ?? "";
    this.remembered.note(name, uid);
    const requestKey = groupContentRequestKey(view);
    const change = (what: Parameters<typeof patchMetadata>[3]) =>
      patchMetadata(store, cluster.groupContents, content, what);
    switch (step.do) {
      case "add-finalizer":
        await change({ addFinalizers: [GROUP_CONTENT_FINALIZER] });
        return gaps.guarded();
      case "mark-being-created":
        await change({ annotations: { [GROUP_BEING_CREATED]: "yes" } });
        this.calls.answers.delete(uid);
        return gaps.marked();
      case "clear-being-created":
        await change({ annotations: { [GROUP_BEING_CREATED]: null } });
        this.calls.answers.delete(uid);
        this.calls.uncertainty.settle(uid);
        return gaps.cleared();
      case "cut":
        return this.#cut(content, step.arguments, requestKey);
      case "inspect":
        return this.calls.make(
          content,
          { requestKey, reason: "GroupSnapshotContentCheckandUpdateFailed" },
          async () => {
            const secrets = await readSecret(store, step.target.secret);
            const group = await inspectGroupSnapshot(driver.client, step.target, secrets, this.calls.options);
            return { kind: "cut", group };
          },
        );
      case "write-status":
        return this.#writeStatus(content, view, step, uid);
      case "report":
        this.calls.pauses.fail(uid, requestKey);
        return this.calls.complain(content, step.reason, step.message);
      case "delete-data":
        return this.calls.make(content, { requestKey, reason: "GroupSnapshotDeleteError" }, async () => {
          const secrets = await readSecretIfAny(store, step.target.secret);
          await deleteGroupSnapshot(driver.client, step.target, secrets, this.calls.options);
          gaps.dataDeleted();
          return { kind: "removed" };
        });
      case "release":
        await change({ removeFinalizers: [GROUP_CONTENT_FINALIZER] });
        return gaps.released();
    }
  }

  async #cut(
    content: VolumeGroupSnapshotContent,
    wanted: GroupCutArguments,
    requestKey: string,
  ): Promise<void> {
    const { driver, store } = this.#context;
    const parameters = { ...wanted.parameters, ...this.#metadataParameters(content) };
    const read = isDeleting(content) ? readSecretIfAny : readSecret;
    await this.calls.make(content, { requestKey, reason: "GroupSnapshotCreationFailed" }, async () => {
      const secrets = await read(store, wanted.secret);
      const request = { ...wanted, parameters };
      const group = await createGroupSnapshot(driver.client, request, secrets, this.calls.options);
      gaps.cut();
      return { kind: "cut", group };
    });
  }

  #metadataParameters({ metadata, spec }: VolumeGroupSnapshotContent): Record<string, string> {
    if (!this.#options.extraCreateMetadata) return {};
    const { name, namespace } = spec.volumeGroupSnapshotRef;
    return {
      [`${RESERVED_PARAMETERS}volumegroupsnapshot/name`]: name,
      [`${RESERVED_PARAMETERS}volumegroupsnapshot/namespace`]: namespace,
      [`${RESERVED_PARAMETERS}volumegroupsnapshotcontent/name`]: metadata.name,
    };
  }

  async #writeStatus(
    content: VolumeGroupSnapshotContent,
    view: GroupContentView,
    { fault, group }: Extract<GroupContentStep, { do: "write-status" }>,
    uid: string,
  ): Promise<void> {
    const { events, now, store, cluster } = this.#context;
    const error = fault === undefined ? null : { message: fault, time: rfc3339(now()) };
    const status = { ...statusAfter(content, group, fault), error };
    const left = await patchStatus(store, cluster.groupContents, content, status);
    gaps.statusWritten();
    this.calls.answers.delete(uid);
    if (fault !== undefined) {
      this.calls.pauses.fail(uid, groupContentRequestKey({ ...view, content: left }));
      events.event(content, "Warning", "GroupSnapshotContentCheckandUpdateFailed", fault);
      return;
    }
    this.calls.pauses.reset(uid);
    // A group that is not ready is asked about less and less often, but never as rarely as one that fails.
    if (isCutReady(group)) this.calls.polls.reset(uid);
    else this.calls.polls.fail(uid, left.status?.volumeGroupSnapshotHandle ?? "");
  }
}
