import {
  defined,
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
import { SnapshotEvents, writeSnapshotError, writeSnapshotStatus } from "../common/snapshot-writes.ts";
import { deleteObject, objectKey, patchMetadata, patchObject } from "../kube/patch.ts";
import type { SnapshotStep, SnapshotView } from "./decide.ts";
import { snapshotRequestKey } from "./read.ts";

/** Makes one externally visible change for a snapshot. */
export async function applySnapshot(
  context: SidecarContext,
  backoff: ObjectBackoff,
  step: SnapshotStep,
  view: SnapshotView,
): Promise<void> {
  const { store, cluster } = context;
  const { claim, content, snapshot } = view;
  if (snapshot === undefined) return;
  const events = new SnapshotEvents<"SnapshotCreated" | "SnapshotReady">(context.events, "Snapshot");
  switch (step.do) {
    case "set-class": {
      const body = { spec: { volumeSnapshotClassName: step.className } };
      const { resource } = cluster.snapshots;
      cluster.snapshots.wrote(await store.patch(resource, objectKey(snapshot), { type: "merge", body }));
      return;
    }
    case "add-finalizer":
      await patchMetadata(store, cluster.snapshots, snapshot, { addFinalizers: step.finalizers });
      return;
    case "add-finalizer-to-claim":
      if (claim === undefined) return;
      await patchMetadata(store, cluster.claims, claim, { addFinalizers: [CLAIM_SOURCE_FINALIZER] });
      return;
    case "create-content":
      cluster.contents.wrote(await store.create(VolumeSnapshotContents, step.content));
      return;
    case "bind-content":
      return bindContent(context, content, snapshot, step.className);
    case "write-status":
      await writeSnapshotStatus(store, cluster.snapshots, snapshot, step.status);
      if (step.creating) events.creating(snapshot);
      events.reached(snapshot, step.events);
      return;
    case "mark-being-deleted":
      if (content === undefined) return;
      await patchMetadata(store, cluster.contents, content, { annotations: { [BEING_DELETED]: "yes" } });
      return;
    case "delete-content":
      if (content === undefined) return;
      await deleteObject(store, cluster.contents, content);
      return;
    case "release":
      await patchMetadata(store, cluster.snapshots, snapshot, {
        removeFinalizers: [SNAPSHOT_FINALIZER, SNAPSHOT_BOUND_FINALIZER],
      });
      return;
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
  const volumeSnapshotRef = { uid: snapshot.metadata.uid };
  const spec = { volumeSnapshotRef, ...defined({ volumeSnapshotClassName: className }) };
  const body = { metadata: {}, spec };
  await patchObject(store, cluster.contents, content, body);
}

/** Records a failure in the status; conflicts, which are none, never come here. */
async function report(
  { cluster, events, store }: SidecarContext,
  { now }: SnapshotView,
  snapshot: VolumeSnapshot,
  { reason, message }: { reason: string; message: string },
): Promise<void> {
  events.event(snapshot, "Warning", reason, message);
  if (isDeleting(snapshot)) return;
  await writeSnapshotError(store, cluster.snapshots, snapshot, { message, time: now, readyToUse: false });
}
