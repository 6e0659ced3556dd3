import { failpoint, isDeleting, runController, type VolumeGroupSnapshotContent } from "@mooring/store";
import { Backoff } from "../common/backoff.ts";
import type { SidecarContext } from "../common/context.ts";
import { GROUP_BEING_CREATED, GROUP_CONTENT_FINALIZER, RESERVED_PARAMETERS } from "../common/names.ts";
import { source } from "../common/source.ts";
import { runSteps } from "../common/steps.ts";
import { rfc3339 } from "../common/time.ts";
import { Uncertainty } from "../common/uncertainty.ts";
import { callFailure, isInfeasible, isUncertain } from "../csi/codes.ts";
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
  groupContentQuestion,
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

/** Longest time between two questions whether a group snapshot is ready, in milliseconds. */
const LONGEST_POLL_MS = 15_000;

/** Has the driver cut and delete what VolumeGroupSnapshotContents stand for. */
export async function runGroupSnapshotContent(
  context: SidecarContext,
  given: Partial<GroupSnapshotOptions>,
  signal: AbortSignal,
): Promise<void> {
  const options = { namePrefix: "groupsnapshot", extraCreateMetadata: false, ...given };
  const cutter = new GroupCutter(context, options, signal);
  const { cluster, concurrency, logger } = context;
  await cluster.groupContents.informer.synced(signal);
  // What an earlier life has left marked may have been cut.
  for (const { metadata } of cluster.groupContents.list())
    if (metadata.annotations?.[GROUP_BEING_CREATED] !== undefined)
      cutter.uncertainty.note(metadata.uid ?? "");
  await runController(
    {
      name: "group-snapshot-content",
      logger,
      concurrency,
      sources: [
        source(cluster.groupContents, ({ metadata }) => [metadata.name]),
        source(cluster.groupClasses, ({ metadata }) =>
          cluster.groupContents.byIndex("className", metadata.name).map((content) => content.metadata.name),
        ),
      ],
      reconcile: (name) => cutter.reconcile(name),
    },
    signal,
  );
}

class GroupCutter {
  readonly #context: SidecarContext;
  readonly #options: GroupSnapshotOptions;
  readonly #signal: AbortSignal;
  readonly uncertainty = new Uncertainty();
  readonly #pauses: Backoff;
  readonly #polls: Backoff;
  readonly #answers = new Map<string, GroupAnswer>();

  constructor(context: SidecarContext, options: GroupSnapshotOptions, signal: AbortSignal) {
    this.#context = context;
    this.#options = options;
    this.#signal = signal;
    const { retry, now } = context;
    this.#pauses = new Backoff({ ...retry, now });
    this.#polls = new Backoff({ ...retry, maxMs: Math.min(retry.maxMs, LONGEST_POLL_MS), now });
  }

  async reconcile(name: string) {
    const { cluster, driver } = this.#context;
    let uid = "";
    const look = async (fresh: boolean): Promise<GroupContentView> => {
      const content = fresh ? await cluster.groupContents.refresh(name) : cluster.groupContents.get(name);
      uid = content?.metadata.uid ?? uid;
      const view: GroupContentView = {
        driver: driver.info.name,
        content,
        groupClass: cluster.groupClasses.get(content?.spec.volumeGroupSnapshotClassName ?? ""),
        namePrefix: this.#options.namePrefix,
        answer: this.#answers.get(uid),
        mayExist: this.uncertainty.has(uid),
        pauseMs: 0,
      };
      const deleting = content !== undefined && isDeleting(content);
      const handle = content?.status?.volumeGroupSnapshotHandle ?? "";
      const polled = deleting ? 0 : this.#polls.remaining(uid, handle);
      const paused = this.#pauses.remaining(uid, groupContentQuestion(view));
      return { ...view, pauseMs: Math.max(polled, paused) };
    };
    const result = await runSteps(
      { look, decide: decideGroupContent, apply: (step, view) => this.#apply(step, view, uid) },
      this.#signal,
    );
    if (cluster.groupContents.get(name)?.metadata.uid !== uid) this.#forget(uid);
    return result;
  }

  #forget(uid: string): void {
    this.#answers.delete(uid);
    this.#pauses.reset(uid);
    this.#polls.reset(uid);
    this.uncertainty.settle(uid);
  }

  async #apply(step: GroupContentStep, view: GroupContentView, uid: string): Promise<void> {
    const { driver, store, cluster } = this.#context;
    const { content } = view;
    if (content === undefined) return;
    const question = groupContentQuestion(view);
    const change = (what: Parameters<typeof patchMetadata>[3]) =>
      patchMetadata(store, cluster.groupContents, content, what);
    switch (step.do) {
      case "guard":
        await change({ addFinalizers: [GROUP_CONTENT_FINALIZER] });
        return gaps.guarded();
      case "mark-being-created":
        await change({ annotations: { [GROUP_BEING_CREATED]: "yes" } });
        this.#answers.delete(uid);
        return gaps.marked();
      case "clear-being-created":
        await change({ annotations: { [GROUP_BEING_CREATED]: null } });
        this.#answers.delete(uid);
        this.uncertainty.settle(uid);
        return gaps.cleared();
      case "cut":
        return this.#cut(content, step.arguments, uid, question);
      case "inspect":
        return this.#call(content, uid, question, "GroupSnapshotContentCheckandUpdateFailed", async () => {
          const secrets = await readSecret(store, step.target.secret);
          const group = await inspectGroupSnapshot(driver.client, step.target, secrets, this.#callOptions);
          return { kind: "cut", group };
        });
      case "write-status":
        return this.#writeStatus(content, view, step, uid);
      case "report":
        this.#pauses.fail(uid, question);
        return this.#complain(content, step.reason, step.message);
      case "delete-data":
        return this.#call(content, uid, question, "GroupSnapshotDeleteError", async () => {
          const secrets = await readSecretIfAny(store, step.target.secret);
          await deleteGroupSnapshot(driver.client, step.target, secrets, this.#callOptions);
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
    uid: string,
    question: string,
  ): Promise<void> {
    const { driver, store } = this.#context;
    const parameters = { ...wanted.parameters, ...this.#metadataParameters(content) };
    const read = isDeleting(content) ? readSecretIfAny : readSecret;
    await this.#call(content, uid, question, "GroupSnapshotCreationFailed", async () => {
      const secrets = await read(store, wanted.secret);
      const request = { ...wanted, parameters };
      const group = await createGroupSnapshot(driver.client, request, secrets, this.#callOptions);
      gaps.cut();
      return { kind: "cut", group };
    });
  }

  /** One call to the driver: its answer, or its failure, is remembered until the next step has used it. */
  async #call(
    content: VolumeGroupSnapshotContent,
    uid: string,
    question: string,
    reason: string,
    call: () => Promise<GroupAnswer>,
  ): Promise<void> {
    try {
      this.#answers.set(uid, await call());
    } catch (error) {
      if (this.#signal.aborted) throw error;
      const failure = callFailure(error);
      const { retry, logger } = this.#context;
      this.#answers.set(uid, { kind: "failed", failure });
      if (isUncertain(failure)) this.uncertainty.note(uid);
      this.#pauses.fail(uid, question, isInfeasible(failure) ? retry.infeasibleMs : 0);
      const { name } = content.metadata;
      logger.warn({ content: name, code: failure.code, error: failure.message }, reason);
      await this.#complain(content, reason, failure.message);
    }
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

  get #callOptions() {
    return { signal: this.#signal, timeoutMs: this.#context.timeoutMs };
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
    this.#answers.delete(uid);
    if (fault !== undefined) {
      this.#pauses.fail(uid, groupContentQuestion({ ...view, content: left }));
      events.event(content, "Warning", "GroupSnapshotContentCheckandUpdateFailed", fault);
      return;
    }
    this.#pauses.reset(uid);
    // A group that is not ready is asked about less and less often, but never as rarely as one that fails.
    if (isCutReady(group)) this.#polls.reset(uid);
    else this.#polls.fail(uid, left.status?.volumeGroupSnapshotHandle ?? "");
  }

  /** Written once per error, not once per attempt. */
  async #complain(content: VolumeGroupSnapshotContent, reason: string, message: string): Promise<void> {
    const { events, now, store, cluster } = this.#context;
    events.event(content, "Warning", reason, message);
    if (content.status?.error?.message === message) return;
    const error = { message, time: rfc3339(now()) };
    const readyToUse = content.status?.readyToUse ?? false;
    await patchStatus(store, cluster.groupContents, content, { readyToUse, error });
  }
}
