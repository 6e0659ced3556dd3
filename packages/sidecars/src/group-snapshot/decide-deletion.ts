import { DONE, hasFinalizer, isDeleting, type Outcome, type VolumeGroupSnapshot, wait } from "@mooring/store";
import { GROUP_BEING_DELETED, GROUP_FINALIZER, SNAPSHOT_SOURCE_FINALIZER } from "../common/names.ts";
import { nextReclaims, nextReleaseWrites, nextSnapshotDeletes } from "./member-writes.ts";
import { type GroupSnapshotStep, type GroupSnapshotView, refersTo, report } from "./view.ts";

/**
 * The group's content goes first, with one call to the driver; then, without any, the members; then the group. Members
 * are marked deleted before anything else, so that no restore begins that the deletion would interrupt.
 */
export function decideDeletion(
  view: GroupSnapshotView,
  group: VolumeGroupSnapshot,
): GroupSnapshotStep | Outcome {
  const { content, owned } = view;
  if (!hasFinalizer(group, GROUP_FINALIZER)) return DONE;
  const reclaims = nextReclaims(group, owned.snapshots);
  if (reclaims.length > 0) return { do: "write-members", writes: reclaims };
  const deletes = nextSnapshotDeletes(owned.snapshots);
  if (deletes.length > 0) return { do: "write-members", writes: deletes };
  const sources = owned.snapshots.filter((snapshot) => hasFinalizer(snapshot, SNAPSHOT_SOURCE_FINALIZER));
  if (sources.length > 0) {
    if (view.backoffMs > 0) return wait(view.backoffMs);
    const names = sources.map(({ metadata }) => metadata.name).join(", ");
    return report("SnapshotDeletePending", `volumes are being made from ${names}`);
  }
  if (content === undefined || !refersTo(content, group)) return decideRelease(view);
  if (content.metadata.annotations?.[GROUP_BEING_DELETED] === undefined) return { do: "mark-being-deleted" };
  if (content.spec.deletionPolicy === "Retain") return decideRelease(view);
  if (!isDeleting(content)) return { do: "delete-content" };
  const message = waitsFor(view);
  if (message === undefined || message === group.status?.error?.message) return DONE;
  return report("GroupSnapshotContentObjectDeleteError", message);
}

/** What an operator should know while the content is not gone. */
function waitsFor({ capable, content, driver }: GroupSnapshotView): string | undefined {
  return capable
    ? content?.status?.error?.message
    : `driver ${driver} cannot delete group snapshots: it lacks CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT`;
}

function decideRelease({ owned }: GroupSnapshotView): GroupSnapshotStep {
  const writes = nextReleaseWrites(owned.snapshots, owned.contents);
  return writes.length > 0 ? { do: "write-members", writes } : { do: "release" };
}

/** Members whose group is gone, by force, follow it without a call to the driver. */
export function decideOrphans({
  contents,
  snapshots,
}: GroupSnapshotView["orphans"]): GroupSnapshotStep | undefined {
  const writes = nextReleaseWrites(snapshots, contents);
  return writes.length > 0 ? { do: "write-members", writes } : undefined;
}
