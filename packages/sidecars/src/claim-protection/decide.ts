import {
  DONE,
  isDeleting,
  type Outcome,
  type PersistentVolumeClaim,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
} from "@mooring/store";
import { isCopying } from "../common/copied-volumes.ts";
import { isGroupMember } from "../common/group-member.ts";

/** What may need a claim. */
export interface ClaimView {
  claim: PersistentVolumeClaim | undefined;
  /** It has our finalizer, and its volume is none of another driver. */
  ours: boolean;
  /** Snapshots of the claim. */
  snapshots: readonly { snapshot: VolumeSnapshot; content: VolumeSnapshotContent | undefined }[];
}

/** Takes the finalizer off the claim. */
export type ReleaseStep = { do: "release" };

/** A claim goes when no unfinished snapshot needs it. A group snapshot needs only the data, which reclaim keeps for it. */
export function decideClaim({ claim, ours, snapshots }: ClaimView): ReleaseStep | Outcome {
  if (claim === undefined || !ours) return DONE;
  const needed = snapshots.some(
    ({ snapshot, content }) => !isGroupMember(snapshot) && needsClaim(snapshot, content, isDeleting(claim)),
  );
  return needed ? DONE : { do: "release" };
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
  return (content !== undefined && isCopying(content)) || (!claimDeleting && !isDeleting(snapshot));
}
