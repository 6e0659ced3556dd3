import { isDeleting, type VolumeGroupSnapshot, type VolumeGroupSnapshotContent } from "@mooring/store";
import type { Obstacle } from "./obstacle.ts";
import type { GroupRestoreView, MemberView } from "./view.ts";

/** A member of the group snapshot that a claim can be made of. */
export interface Member extends MemberView {
  /** The claim that it is a snapshot of; the name of the snapshot where that is not known. */
  sourceClaim: string;
}

/**
 * All members, in the order of their source claims; an obstacle when one of them is missing or not ready. The
 * content has how many there are: a member that a user has deleted is missed.
 */
export function findMembers(
  view: GroupRestoreView,
  groupSnapshot: VolumeGroupSnapshot,
  content: VolumeGroupSnapshotContent,
): Member[] | Obstacle {
  const members = view.members.filter((member) => isOf(member, groupSnapshot));
  const expected = content.status?.volumeSnapshotInfoList ?? [];
  const missing = expected.flatMap(({ snapshotHandle }) =>
    snapshotHandle === undefined || members.some((member) => handleOf(member) === snapshotHandle)
      ? []
      : [snapshotHandle],
  );
  if (missing.length > 0)
    return {
      kind: "fail",
      reason: "MemberMissing",
      message: `${missing.length} of ${expected.length} snapshots of the group have no VolumeSnapshot (handles: ${missing.join(", ")}): the group cannot be restored as a whole`,
    };
  if (members.length === 0)
    return {
      kind: "fail",
      reason: "NoMembers",
      message: `VolumeGroupSnapshot ${groupSnapshot.metadata.name} has no VolumeSnapshots`,
    };
  const leaving = members.filter(({ snapshot }) => isDeleting(snapshot));
  if (leaving.length > 0)
    return { kind: "fail", reason: "MemberDeleting", message: `${namesOf(leaving)} being deleted` };
  const unready = members.filter(({ snapshot }) => snapshot.status?.readyToUse !== true);
  if (unready.length > 0)
    return { kind: "wait", reason: "MemberNotReady", message: `${namesOf(unready)} not ready yet` };
  return members
    .map((member) => ({ ...member, sourceClaim: sourceOf(member) }))
    .sort((a, b) => (a.sourceClaim < b.sourceClaim ? -1 : 1));
}

/** A group snapshot of the same name may have been there before: its members are not of this one. */
function isOf({ snapshot }: MemberView, groupSnapshot: VolumeGroupSnapshot): boolean {
  const owner = snapshot.metadata.ownerReferences?.find(({ kind }) => kind === groupSnapshot.kind);
  return owner === undefined || owner.uid === groupSnapshot.metadata.uid;
}

function handleOf({ content }: MemberView): string | undefined {
  return content?.status?.snapshotHandle ?? content?.spec.source.snapshotHandle;
}

function sourceOf({ snapshot }: MemberView): string {
  return snapshot.spec.source.persistentVolumeClaimName ?? snapshot.metadata.name;
}

function namesOf(members: readonly MemberView[]): string {
  const names = members.map(({ snapshot }) => snapshot.metadata.name);
  const some = names.slice(0, 3).join(", ") + (names.length > 3 ? ` and ${names.length - 3} more` : "");
  return `VolumeSnapshot${names.length === 1 ? "" : "s"} ${some} ${names.length === 1 ? "is" : "are"}`;
}
