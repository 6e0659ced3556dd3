import { failpoint, type VolumeSnapshotContent } from "@mooring/store";
import { ContentCalls } from "../common/content-calls.ts";
import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import { BEING_CREATED, CONTENT_FINALIZER, RESERVED_PARAMETERS } from "../common/names.ts";
import { Remembered } from "../common/remembered.ts";
import { source } from "../common/source.ts";
import { patchMetadata, patchStatus } from "../kube/patch.ts";
import { readSecret, readSecretIfAny } from "../secrets/read.ts";
import { createSnapshot, inspectSnapshot } from "./calls.ts";
import {
  type ContentAnswer,
  type ContentStep,
  type ContentView,
  type CutArguments,
  type CutSnapshot,
  contentRequestKey,
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

/** Has the driver cut and delete what VolumeSnapshotContents stand for. */
export async function runSnapshotContent(
  context: SidecarContext,
  given: Partial<SnapshotOptions>,
  signal: AbortSignal,
): Promise<void> {
  const options = { namePrefix: "snapshot", extraCreateMetadata: false, ...given };
  const cutter = new SnapshotCutter(context, options, signal);
  const { cluster } = context;
  await cluster.contents.informer.synced(signal);
  // What an earlier life has left marked may have been cut.
  for (const { metadata } of cluster.contents.list())
    if (metadata.annotations?.[BEING_CREATED] !== undefined)
      cutter.calls.uncertainty.note(metadata.uid ?? "");
  await sidecarController(context, {
    name: "snapshot-content",
    sources: [source(cluster.contents, ({ metadata }) => [metadata.name])],
    watched: [cluster.snapshotClasses],
    read: (name, from, fresh) => cutter.read(name, from, fresh),
    isGone: ({ content }: ContentView) => content === undefined,
    decide: decideContent,
    apply: (step: ContentStep, view, name) => cutter.apply(step, view, name),
    ended: (name) => cutter.remembered.ended(name),
  }).run(signal);
}

class SnapshotCutter {
  readonly #context: SidecarContext;
  readonly #options: SnapshotOptions;
  readonly calls: ContentCalls<VolumeSnapshotContent, ContentAnswer>;
  readonly remembered: Remembered;

  constructor(context: SidecarContext, options: SnapshotOptions, signal: AbortSignal) {
    this.#context = context;
    this.#options = options;
    this.calls = new ContentCalls(context, context.cluster.contents, signal);
    this.remembered = new Remembered(
      (name) => context.cluster.contents.get(name)?.metadata.uid,
      (uid) => this.calls.forget(uid),
    );
  }

  async read(name: string, { cluster, driver }: SidecarContext, fresh: boolean): Promise<ContentView> {
    const content = fresh ? await cluster.contents.refresh(name) : cluster.contents.get(name);
    const uid = content?.metadata.uid ?? "";
    const view: ContentView = {
      driver: driver.info.name,
      content,
      snapshotClass: cluster.snapshotClasses.get(content?.spec.volumeSnapshotClassName ?? ""),
      namePrefix: this.#options.namePrefix,
      answer: this.calls.answers.get(uid),
      mayExist: this.calls.uncertainty.has(uid),
      pauseMs: 0,
    };
    const polled = this.calls.polls.remaining(uid, content?.status?.snapshotHandle ?? "");
    return {
      ...view,
      pauseMs: Math.max(polled, this.calls.pauses.remaining(uid, contentRequestKey(view))),
    };
  }

  async apply(step: ContentStep, view: ContentView, name: string): Promise<void> {
    const { store, cluster } = this.#context;
    const { content } = view;
    if (content === undefined) return;
    const uid = content.metadata.uid ?? "";
    this.remembered.note(name, uid);
    const requestKey = contentRequestKey(view);
    switch (step.do) {
      case "add-finalizer":
        await patchMetadata(store, cluster.contents, content, { addFinalizers: [CONTENT_FINALIZER] });
        return gaps.guarded();
      case "mark-being-created":
        await patchMetadata(store, cluster.contents, content, { annotations: { [BEING_CREATED]: "yes" } });
        this.calls.answers.delete(uid);
        return gaps.marked();
      case "clear-being-created":
        await patchMetadata(store, cluster.contents, content, { annotations: { [BEING_CREATED]: null } });
        this.calls.answers.delete(uid);
        this.calls.uncertainty.settle(uid);
        return gaps.cleared();
      case "cut":
        return this.#cut(content, step.arguments, requestKey);
      case "inspect":
        return this.calls.make(
          content,
          { requestKey, reason: "SnapshotContentCheckandUpdateFailed" },
          async () => {
            const secrets = await readSecret(store, step.secret);
            const { driver, now } = this.#context;
            const cut = await inspectSnapshot(
              driver.client,
              driver.info,
              step.handle,
              secrets,
              now(),
              this.calls.options,
            );
            return { kind: "cut", snapshot: cut };
          },
        );
      case "write-status":
        return this.#writeStatus(content, step.snapshot, uid);
      case "report":
        this.calls.pauses.fail(uid, requestKey);
        return this.calls.complain(content, step.reason, step.message);
      case "delete-data":
        return this.calls.make(content, { requestKey, reason: "SnapshotDeleteError" }, async () => {
          const secrets = await readSecretIfAny(store, step.secret);
          const { client } = this.#context.driver;
          await client.controller.deleteSnapshot({ snapshotId: step.handle, secrets }, this.calls.options);
          gaps.dataDeleted();
          return { kind: "removed" };
        });
      case "release":
        await patchMetadata(store, cluster.contents, content, { removeFinalizers: [CONTENT_FINALIZER] });
        return gaps.released();
    }
  }

  async #cut(content: VolumeSnapshotContent, wanted: CutArguments, requestKey: string): Promise<void> {
    const { driver, now, store } = this.#context;
    const parameters = { ...wanted.parameters, ...this.#metadataParameters(content) };
    const read = content.metadata.deletionTimestamp === undefined ? readSecret : readSecretIfAny;
    await this.calls.make(content, { requestKey, reason: "SnapshotCreationFailed" }, async () => {
      const secrets = await read(store, wanted.secret);
      const snapshot = await createSnapshot(
        driver.client,
        { ...wanted, parameters },
        secrets,
        now(),
        this.calls.options,
      );
      gaps.cut();
      return { kind: "cut", snapshot };
    });
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
    this.calls.answers.delete(uid);
    this.calls.pauses.reset(uid);
    // A snapshot that is not ready is asked about less and less often, but never as rarely as one that fails.
    if (cut.ready) this.calls.polls.reset(uid);
    else this.calls.polls.fail(uid, cut.handle);
  }
}
