import {
  failpoint,
  isDeleting,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  VolumeSnapshotContents,
} from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import {
  BEING_DELETED,
  CLAIM_SOURCE_FINALIZER,
  SNAPSHOT_BOUND_FINALIZER,
  SNAPSHOT_FINALIZER,
} from "../common/names.ts";
import type { ObjectBackoff } from "../common/object-backoff.ts";
import { deleteObject, objectKey, patchMetadata, patchStatus } from "../kube/patch.ts";
import type { SnapshotStep, SnapshotView } from "./decide.ts";
import { snapshotRequestKey } from "./read.ts";

const failpoints = {
  classSet: failpoint("sidecars/snapshot/class-set"),
  finalizerAdded: failpoint("sidecars/snapshot/finalizer-added"),
  claimProtected: failpoint("sidecars/snapshot/claim-protected"),
  contentCreated: failpoint("sidecars/snapshot/content-created"),
  contentBound: failpoint("sidecars/snapshot/content-bound"),
  statusWritten: failpoint("sidecars/snapshot/status-written"),
  marked: failpoint("sidecars/snapshot/marked-being-deleted"),
  contentDeleted: failpoint("sidecars/snapshot/content-deleted"),
  released: failpoint("sidecars/snapshot/released"),
};

const MESSAGES = {
  SnapshotCreated: (name: string) => `Snapshot ${name} was successfully created by the CSI driver.`,
  SnapshotReady: (name: string) => `Snapshot ${name} is ready to use.`,
};

/** Makes one externally visible change for a snapshot. */
export async function applySnapshot(
  context: SidecarContext,
  backoff: ObjectBackoff,
  step: SnapshotStep,
  view: SnapshotView,
): Promise<void> {
  const { store, cluster, events } = context;
  const { claim, content, snapshot } = view;
  if (snapshot === undefined) return;
  const name = `${snapshot.metadata.namespace}/${snapshot.metadata.name}`;
  switch (step.do) {
    case "set-class": {
      const body = { spec: { volumeSnapshotClassName: step.className } };
      const { resource } = cluster.snapshots;
      cluster.snapshots.wrote(await store.patch(resource, objectKey(snapshot), { type: "merge", body }));
      return failpoints.classSet();
    }
    case "add-finalizer":
      await patchMetadata(store, cluster.snapshots, snapshot, { addFinalizers: step.finalizers });
      return failpoints.finalizerAdded();
    case "add-finalizer-to-claim":
      if (claim === undefined) return;
      await patchMetadata(store, cluster.claims, claim, { addFinalizers: [CLAIM_SOURCE_FINALIZER] });
      return failpoints.claimProtected();
    case "create-content":
      cluster.contents.wrote(await store.create(VolumeSnapshotContents, step.content));
      events.event(
        snapshot,
        "Normal",
        "CreatingSnapshot",
        `Waiting for a snapshot ${name} to be created by the CSI driver.`,
      );
      return failpoints.contentCreated();
    case "bind-content":
      return bindContent(context, content, snapshot, step.className);
    case "write-status":
      await writeStatus(context, snapshot, step.status);
      for (const reason of step.events) events.event(snapshot, "Normal", reason, MESSAGES[reason](name));
      failpoints.statusWritten();
      return;
    case "mark-being-deleted":
      if (content === undefined) return;
      await patchMetadata(store, cluster.contents, content, { annotations: { [BEING_DELETED]: "yes" } });
      return failpoints.marked();
    case "delete-content":
      if (content === undefined) return;
      await deleteObject(store, cluster.contents, content);
      return failpoints.contentDeleted();
    case "release":
      await patchMetadata(store, cluster.snapshots, snapshot, {
        removeFinalizers: [SNAPSHOT_FINALIZER, SNAPSHOT_BOUND_FINALIZER],
      });
      return failpoints.released();
    case "report":
      backoff.fail(snapshot, snapshotRequestKey(view));
      return report(context, view, snapshot, step);
  }
}

async function bindContent(
  { cluster, store }: SidecarContext,
  content: VolumeSnapshotContent | undefined,
  snapshot: VolumeSnapshot,
  className: string | undefined,
): Promise<void> {
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
  failpoints.contentBound();
}

async function writeStatus(
  { cluster, store }: SidecarContext,
  snapshot: VolumeSnapshot,
  status: NonNullable<VolumeSnapshot["status"]>,
): Promise<void> {
  await patchStatus(store, cluster.snapshots, snapshot, { ...status, error: status.error ?? null });
}

/** Conflicts never get here: only what an operator can do something about is written down, and once. */
async function report(
  context: SidecarContext,
  view: SnapshotView,
  snapshot: VolumeSnapshot,
  { reason, message }: { reason: string; message: string },
): Promise<void> {
  context.events.event(snapshot, "Warning", reason, message);
  if (isDeleting(snapshot) || snapshot.status?.error?.message === message) return;
  const error = { message, time: view.now };
  await writeStatus(context, snapshot, { ...snapshot.status, readyToUse: false, error });
}
