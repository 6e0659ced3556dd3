import { failpoint, runController, type VolumeSnapshotContent } from "@mooring/store";
import { Backoff } from "../common/backoff.ts";
import type { SidecarContext } from "../common/context.ts";
import { BEING_CREATED, CONTENT_FINALIZER, RESERVED_PARAMETERS } from "../common/names.ts";
import { source } from "../common/source.ts";
import { runSteps } from "../common/steps.ts";
import { rfc3339 } from "../common/time.ts";
import { Uncertainty } from "../common/uncertainty.ts";
import { callFailure, isInfeasible, isUncertain } from "../csi/codes.ts";
import { patchMetadata, patchStatus } from "../kube/patch.ts";
import { readSecret, readSecretIfAny } from "../secrets/read.ts";
import { createSnapshot, inspectSnapshot } from "./calls.ts";
import {
  type ContentAnswer,
  type ContentStep,
  type ContentView,
  type CutArguments,
  type CutSnapshot,
  contentQuestion,
  decideContent,
} from "./decide.ts";

export interface SnapshotOptions {
  /** Snapshots are called `<prefix>-<uid>` on the storage system; default `snapshot`. */
  namePrefix: string;
  /** Tells the driver the names of the snapshot and its content. */
  extraCreateMetadata: boolean;
}

const gaps = {
  guarded: failpoint("sidecars/snapshot-content/guarded"),
  marked: failpoint("sidecars/snapshot-content/marked-being-created"),
  cut: failpoint("sidecars/snapshot-content/cut"),
  statusWritten: failpoint("sidecars/snapshot-content/status-written"),
  cleared: failpoint("sidecars/snapshot-content/cleared-being-created"),
  dataDeleted: failpoint("sidecars/snapshot-content/data-deleted"),
  released: failpoint("sidecars/snapshot-content/released"),
};

/** Longest time between two questions whether a snapshot is ready, in milliseconds. */
const LONGEST_POLL_MS = 15_000;

/** Has the driver cut and delete what VolumeSnapshotContents stand for. */
export async function runSnapshotContent(
  context: SidecarContext,
  given: Partial<SnapshotOptions>,
  signal: AbortSignal,
): Promise<void> {
  const options = { namePrefix: "snapshot", extraCreateMetadata: false, ...given };
  const cutter = new SnapshotCutter(context, options, signal);
  const { cluster, concurrency, logger } = context;
  await cluster.contents.informer.synced(signal);
  // What an earlier life has left marked may have been cut.
  for (const { metadata } of cluster.contents.list())
    if (metadata.annotations?.[BEING_CREATED] !== undefined) cutter.uncertainty.note(metadata.uid ?? "");
  await runController(
    {
      name: "snapshot-content",
      logger,
      concurrency,
      sources: [
        source(cluster.contents, ({ metadata }) => [metadata.name]),
        source(cluster.snapshotClasses, ({ metadata }) =>
          cluster.contents.byIndex("className", metadata.name).map((content) => content.metadata.name),
        ),
      ],
      reconcile: (name) => cutter.reconcile(name),
    },
    signal,
  );
}

class SnapshotCutter {
  readonly #context: SidecarContext;
  readonly #options: SnapshotOptions;
  readonly #signal: AbortSignal;
  readonly uncertainty = new Uncertainty();
  readonly #pauses: Backoff;
  readonly #polls: Backoff;
  readonly #answers = new Map<string, ContentAnswer>();

  constructor(context: SidecarContext, options: SnapshotOptions, signal: AbortSignal) {
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
    const look = async (fresh: boolean): Promise<ContentView> => {
      const content = fresh ? await cluster.contents.refresh(name) : cluster.contents.get(name);
      uid = content?.metadata.uid ?? uid;
      const view: ContentView = {
        driver: driver.info.name,
        content,
        snapshotClass: cluster.snapshotClasses.get(content?.spec.volumeSnapshotClassName ?? ""),
        namePrefix: this.#options.namePrefix,
        answer: this.#answers.get(uid),
        mayExist: this.uncertainty.has(uid),
        pauseMs: 0,
      };
      const polled = this.#polls.remaining(uid, content?.status?.snapshotHandle ?? "");
      return { ...view, pauseMs: Math.max(polled, this.#pauses.remaining(uid, contentQuestion(view))) };
    };
    const result = await runSteps(
      { look, decide: decideContent, apply: (step, view) => this.#apply(step, view, uid) },
      this.#signal,
    );
    if (cluster.contents.get(name)?.metadata.uid !== uid) this.#forget(uid);
    return result;
  }

  #forget(uid: string): void {
    this.#answers.delete(uid);
    this.#pauses.reset(uid);
    this.#polls.reset(uid);
    this.uncertainty.settle(uid);
  }

  async #apply(step: ContentStep, view: ContentView, uid: string): Promise<void> {
    const { store, cluster } = this.#context;
    const { content } = view;
    if (content === undefined) return;
    const question = contentQuestion(view);
    switch (step.do) {
      case "guard":
        await patchMetadata(store, cluster.contents, content, { addFinalizers: [CONTENT_FINALIZER] });
        return gaps.guarded();
      case "mark-being-created":
        await patchMetadata(store, cluster.contents, content, { annotations: { [BEING_CREATED]: "yes" } });
        this.#answers.delete(uid);
        return gaps.marked();
      case "clear-being-created":
        await patchMetadata(store, cluster.contents, content, { annotations: { [BEING_CREATED]: null } });
        this.#answers.delete(uid);
        this.uncertainty.settle(uid);
        return gaps.cleared();
      case "cut":
        return this.#cut(content, step.arguments, uid, question);
      case "inspect":
        return this.#call(content, uid, question, "SnapshotContentCheckandUpdateFailed", async () => {
          const secrets = await readSecret(store, step.secret);
          const { driver, now } = this.#context;
          const cut = await inspectSnapshot(
            driver.client,
            driver.info,
            step.handle,
            secrets,
            now(),
            this.#callOptions,
          );
          return { kind: "cut", snapshot: cut };
        });
      case "write-status":
        return this.#writeStatus(content, step.snapshot, uid);
      case "report":
        this.#pauses.fail(uid, question);
        return this.#complain(content, step.reason, step.message);
      case "delete-data":
        return this.#call(content, uid, question, "SnapshotDeleteError", async () => {
          const secrets = await readSecretIfAny(store, step.secret);
          const { client } = this.#context.driver;
          await client.controller.deleteSnapshot({ snapshotId: step.handle, secrets }, this.#callOptions);
          gaps.dataDeleted();
          return { kind: "removed" };
        });
      case "release":
        await patchMetadata(store, cluster.contents, content, { removeFinalizers: [CONTENT_FINALIZER] });
        return gaps.released();
    }
  }

  async #cut(
    content: VolumeSnapshotContent,
    wanted: CutArguments,
    uid: string,
    question: string,
  ): Promise<void> {
    const { driver, now, store } = this.#context;
    const parameters = { ...wanted.parameters, ...this.#metadataParameters(content) };
    const read = content.metadata.deletionTimestamp === undefined ? readSecret : readSecretIfAny;
    await this.#call(content, uid, question, "SnapshotCreationFailed", async () => {
      const secrets = await read(store, wanted.secret);
      const snapshot = await createSnapshot(
        driver.client,
        { ...wanted, parameters },
        secrets,
        now(),
        this.#callOptions,
      );
      gaps.cut();
      return { kind: "cut", snapshot };
    });
  }

  /** One call to the driver: its answer, or its failure, is remembered until the next step has used it. */
  async #call(
    content: VolumeSnapshotContent,
    uid: string,
    question: string,
    reason: string,
    call: () => Promise<ContentAnswer>,
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

  #metadataParameters({ metadata, spec }: VolumeSnapshotContent): Record<string, string> {
    if (!this.#options.extraCreateMetadata) return {};
    const { name, namespace } = spec.volumeSnapshotRef;
    return {
      [`${RESERVED_PARAMETERS}volumesnapshot/name`]: name,
      [`${RESERVED_PARAMETERS}volumesnapshot/namespace`]: namespace,
      [`${RESERVED_PARAMETERS}volumesnapshotcontent/name`]: metadata.name,
    };
  }

  get #callOptions() {
    return { signal: this.#signal, timeoutMs: this.#context.timeoutMs };
  }

  async #writeStatus(content: VolumeSnapshotContent, cut: CutSnapshot, uid: string): Promise<void> {
    const { store, cluster } = this.#context;
    const { creationTime, restoreSize } = content.status ?? {};
    const size = restoreSize ?? (cut.sizeBytes > 0 ? cut.sizeBytes : undefined);
    const status = {
      snapshotHandle: cut.handle,
      readyToUse: cut.ready,
      creationTime: creationTime ?? cut.creationTime,
      ...(size === undefined ? {} : { restoreSize: size }),
      error: null,
    };
    await patchStatus(store, cluster.contents, content, status);
    gaps.statusWritten();
    this.#answers.delete(uid);
    this.#pauses.reset(uid);
    // A snapshot that is not ready is asked about less and less often, but never as rarely as one that fails.
    if (cut.ready) this.#polls.reset(uid);
    else this.#polls.fail(uid, cut.handle);
  }

  /** Written once per error, not once per attempt. */
  async #complain(content: VolumeSnapshotContent, reason: string, message: string): Promise<void> {
    const { events, now, store, cluster } = this.#context;
    events.event(content, "Warning", reason, message);
    if (content.status?.error?.message === message) return;
    const error = { message, time: rfc3339(now()) };
    const readyToUse = content.status?.readyToUse ?? false;
    await patchStatus(store, cluster.contents, content, { readyToUse, error });
  }
}
