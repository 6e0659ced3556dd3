import {
  DONE,
  isDeleting,
  type Outcome,
  type PersistentVolumeClaim,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
} from "@mooring/store";
import { isGroupMember } from "../common/group-member.ts";
import { groupOfSnapshot } from "../common/group-of.ts";
import { lockOf } from "../common/member-lock.ts";
import { BEING_CREATED, GROUP_BEING_CREATED } from "../common/names.ts";
import { selects } from "../group-snapshot/sources.ts";

/** What may need a claim. */
export interface ClaimView {
  claim: PersistentVolumeClaim | undefined;
  /** It has our finalizer, and its volume is none of another driver. */
  ours: boolean;
  /** Snapshots of the claim. */
  snapshots: readonly { snapshot: VolumeSnapshot; content: VolumeSnapshotContent | undefined }[];
  /** Group snapshots of its namespace that have no content. */
  groups: readonly VolumeGroupSnapshot[];
  /** Contents of group snapshots with its volume. */
  groupContents: readonly VolumeGroupSnapshotContent[];
}

/** The claim is let go. */
export type ReleaseStep = { do: "release" };

/** A claim goes when no unfinished snapshot and no unfinished group snapshot needs it. */
export function decideClaim({ claim, ours, snapshots, ...view }: ClaimView): ReleaseStep | Outcome {
  if (claim === undefined || !ours) return DONE;
  const needed = snapshots.some(
    ({ snapshot, content }) => !isGroupMember(snapshot) && needsClaim(snapshot, content, isDeleting(claim)),
  );
  return needed || groupNeedsClaim(view, claim) ? DONE : { do: "release" };
}

/**
 * Whether a snapshot still needs its source claim. A claim under deletion waits only for snapshots that the driver may
 * be copying right now: a snapshot that cannot be made must not keep it for ever.
 */
function needsClaim(
  snapshot: VolumeSnapshot,
  content: VolumeSnapshotContent | undefined,
  claimDeleting: boolean,
): boolean {
  if (snapshot.status?.readyToUse === true) return false;
  const inProgress =
    content !== undefined &&
    content.status?.readyToUse !== true &&
    (content.metadata.annotations?.[BEING_CREATED] !== undefined ||
      content.status?.snapshotHandle !== undefined);
  return inProgress || (!claimDeleting && !isDeleting(snapshot));
}

/** A group snapshot needs its claims from before its content is made until the driver has made it. */
function groupNeedsClaim(
  { groups, groupContents }: Pick<ClaimView, "groups" | "groupContents">,
  claim: PersistentVolumeClaim,
): boolean {
  const unfinished = groupContents.filter(({ status }) => status?.readyToUse !== true);
  if (unfinished.some(isInProgress)) return true;
  if (isDeleting(claim)) return false;
  if (unfinished.some((content) => !isDeleting(content))) return true;
  return groups.some(
    (group) => !isDeleting(group) && group.status?.readyToUse !== true && isOf(group, claim),
  );
}

function isInProgress({ metadata, status }: VolumeGroupSnapshotContent): boolean {
  return (
    metadata.annotations?.[GROUP_BEING_CREATED] !== undefined ||
    (status?.volumeGroupSnapshotHandle !== undefined && metadata.deletionTimestamp === undefined)
  );
}

/** Whether a group snapshot is of a claim: as a member of the VolumeGroup that it names, else by its selector. */
function isOf(snapshot: VolumeGroupSnapshot, claim: PersistentVolumeClaim): boolean {
  const named = groupOfSnapshot(snapshot);
  return named === undefined ? selects(snapshot, claim) : lockOf(claim)?.name === named;
}
