import {
  failpoint,
  isDeleting,
  keyOf,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  VolumeSnapshotContents,
} from "@mooring/store";
import { Backoff } from "../common/backoff.ts";
import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import {
  BEING_DELETED,
  CLAIM_SOURCE_FINALIZER,
  SNAPSHOT_BOUND_FINALIZER,
  SNAPSHOT_FINALIZER,
} from "../common/names.ts";
import { Remembered } from "../common/remembered.ts";
import { source } from "../common/source.ts";
import { rfc3339 } from "../common/time.ts";
import { deleteObject, objectKey, patchMetadata, patchStatus } from "../kube/patch.ts";
import { runClaimProtection } from "./claim-protection.ts";
import { contentNameOf, decideSnapshot, type SnapshotStep, type SnapshotView } from "./decide.ts";

const gaps = {
  classSet: failpoint("sidecars/snapshot/class-set"),
  guarded: failpoint("sidecars/snapshot/guarded"),
  claimGuarded: failpoint("sidecars/snapshot/claim-guarded"),
  contentCreated: failpoint("sidecars/snapshot/content-created"),
  contentBound: failpoint("sidecars/snapshot/content-bound"),
  statusWritten: failpoint("sidecars/snapshot/status-written"),
  marked: failpoint("sidecars/snapshot/marked-being-deleted"),
  contentDeleted: failpoint("sidecars/snapshot/content-deleted"),
  released: failpoint("sidecars/snapshot/released"),
};

/** Binds VolumeSnapshots of the driver to contents, and undoes that. */
export async function runSnapshot(context: SidecarContext, signal: AbortSignal): Promise<void> {
  const { cluster } = context;
  const binder = new SnapshotBinder(context);
  const controller = sidecarController(context, {
    name: "snapshot",
    sources: [source(cluster.snapshots, (snapshot) => [keyOf(snapshot)])],
    watched: [cluster.contents, cluster.snapshotClasses, cluster.claims, cluster.volumes],
    read: (key, from, fresh) => binder.read(key, from, fresh),
    isGone: ({ snapshot }: SnapshotView) => snapshot === undefined,
    decide: decideSnapshot,
    apply: (step: SnapshotStep, view, key) => binder.apply(step, view, key),
    ended: (key) => binder.remembered.ended(key),
  });
  await Promise.all([controller.run(signal), runClaimProtection(context, signal)]);
}

class SnapshotBinder {
  readonly #context: SidecarContext;
  readonly #pauses: Backoff;
  readonly remembered: Remembered;

  constructor(context: SidecarContext) {
    this.#context = context;
    this.#pauses = new Backoff({ ...context.retry, now: context.now });
    this.remembered = new Remembered(
      (key) => context.cluster.snapshots.get(key)?.metadata.uid,
      (uid) => this.#pauses.reset(uid),
    );
  }

  async read(key: string, from: SidecarContext, fresh: boolean): Promise<SnapshotView> {
    const view = await this.#view(key, from, fresh);
    const uid = view.snapshot?.metadata.uid ?? "";
    return { ...view, pauseMs: this.#pauses.remaining(uid, requestKeyOf(view)) };
  }

  async #view(key: string, from: SidecarContext, fresh: boolean): Promise<SnapshotView> {
    const { cluster, driver, now } = from;
    const snapshot = fresh ? await cluster.snapshots.refresh(key) : cluster.snapshots.get(key);
    const claimName = snapshot?.spec.source.persistentVolumeClaimName;
    const claimKey =
      claimName === undefined ? "" : keyOf({ metadata: { ...snapshot?.metadata, name: claimName } });
    const claim =
      fresh && claimKey !== "" ? await cluster.claims.refresh(claimKey) : cluster.claims.get(claimKey);
    return {
      driver: driver.info.name,
      snapshot,
      content: snapshot === undefined ? undefined : await readContent(from, snapshot, fresh),
      snapshotClass: cluster.snapshotClasses.get(snapshot?.spec.volumeSnapshotClassName ?? ""),
      classes: cluster.snapshotClasses.list(),
      claim,
      volume: cluster.volumes.get(claim?.spec?.volumeName ?? ""),
      now: rfc3339(now()),
      pauseMs: 0,
    };
  }

  async apply(step: SnapshotStep, view: SnapshotView, key: string): Promise<void> {
    const { store, cluster, events } = this.#context;
    const { claim, content, snapshot } = view;
    if (snapshot === undefined) return;
    const uid = snapshot.metadata.uid ?? "";
    this.remembered.note(key, uid);
    const name = `${snapshot.metadata.namespace}/${snapshot.metadata.name}`;
    switch (step.do) {
      case "set-class": {
        const body = { spec: { volumeSnapshotClassName: step.className } };
        const { resource } = cluster.snapshots;
        cluster.snapshots.wrote(await store.patch(resource, objectKey(snapshot), { type: "merge", body }));
        return gaps.classSet();
      }
      case "add-finalizer":
        await patchMetadata(store, cluster.snapshots, snapshot, { addFinalizers: step.finalizers });
        return gaps.guarded();
      case "add-finalizer-to-claim":
        if (claim === undefined) return;
        await patchMetadata(store, cluster.claims, claim, { addFinalizers: [CLAIM_SOURCE_FINALIZER] });
        return gaps.claimGuarded();
      case "create-content":
        cluster.contents.wrote(await store.create(VolumeSnapshotContents, step.content));
        events.event(
          snapshot,
          "Normal",
          "CreatingSnapshot",
          `Waiting for a snapshot ${name} to be created by the CSI driver.`,
        );
        return gaps.contentCreated();
      case "bind-content":
        return this.#bind(content, snapshot, step.className);
      case "write-status":
        await this.#writeStatus(snapshot, step.status);
        for (const reason of step.events) events.event(snapshot, "Normal", reason, MESSAGES[reason](name));
        gaps.statusWritten();
        return;
      case "mark-being-deleted":
        if (content === undefined) return;
        await patchMetadata(store, cluster.contents, content, { annotations: { [BEING_DELETED]: "yes" } });
        return gaps.marked();
      case "delete-content":
        if (content === undefined) return;
        await deleteObject(store, cluster.contents, content);
        return gaps.contentDeleted();
      case "release":
        await patchMetadata(store, cluster.snapshots, snapshot, {
          removeFinalizers: [SNAPSHOT_FINALIZER, SNAPSHOT_BOUND_FINALIZER],
        });
        return gaps.released();
      case "report":
        return this.#report(view, snapshot, step, uid);
    }
  }

  async #bind(
    content: VolumeSnapshotContent | undefined,
    snapshot: VolumeSnapshot,
    className: string | undefined,
  ): Promise<void> {
    const { store, cluster } = this.#context;
    if (content === undefined) return;
    const { resourceVersion, uid } = content.metadata;
    const volumeSnapshotRef = { uid: snapshot.metadata.uid };
    const spec = {
      volumeSnapshotRef,
      ...(className === undefined ? {} : { volumeSnapshotClassName: className }),
    };
    const body = { metadata: { resourceVersion, uid }, spec };
    const { resource } = cluster.contents;
    cluster.contents.wrote(await store.patch(resource, objectKey(content), { type: "merge", body }));
    gaps.contentBound();
  }

  async #writeStatus(snapshot: VolumeSnapshot, status: NonNullable<VolumeSnapshot["status"]>): Promise<void> {
    const { store, cluster } = this.#context;
    await patchStatus(store, cluster.snapshots, snapshot, { ...status, error: status.error ?? null });
  }

  /** Conflicts never get here: only what a person can do something about is written down, and once. */
  async #report(
    view: SnapshotView,
    snapshot: VolumeSnapshot,
    { reason, message }: { reason: string; message: string },
    uid: string,
  ): Promise<void> {
    const { events } = this.#context;
    this.#pauses.fail(uid, requestKeyOf(view));
    events.event(snapshot, "Warning", reason, message);
    if (isDeleting(snapshot) || snapshot.status?.error?.message === message) return;
    const error = { message, time: view.now };
    await this.#writeStatus(snapshot, { ...snapshot.status, readyToUse: false, error });
  }
}

/** Before a snapshot goes without its content, the server itself has to say that there is none. */
async function readContent(
  { cluster: { contents } }: SidecarContext,
  snapshot: VolumeSnapshot,
  fresh: boolean,
): Promise<VolumeSnapshotContent | undefined> {
  const name = contentNameOf(snapshot);
  const known = contents.get(name);
  return fresh || (known === undefined && isDeleting(snapshot)) ? contents.refresh(name) : known;
}

const MESSAGES = {
  SnapshotCreated: (name: string) => `Snapshot ${name} was successfully created by the CSI driver.`,
  SnapshotReady: (name: string) => `Snapshot ${name} is ready to use.`,
};

/** What a complaint depends on: our own status and finalizers are no part of it. */
function requestKeyOf({ claim, classes, content, snapshot, volume }: SnapshotView): string {
  const pick = (
    object: { metadata: { uid?: string; deletionTimestamp?: string }; spec?: unknown } | undefined,
  ) => object && [object.metadata.uid, object.metadata.deletionTimestamp, object.spec];
  const held = snapshot?.metadata.finalizers;
  return JSON.stringify([
    pick(snapshot),
    held,
    pick(content),
    pick(claim),
    claim?.status?.phase,
    pick(volume),
    classes,
  ]);
}
