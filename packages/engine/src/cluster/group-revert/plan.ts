import { isDeleting } from "@mooring/store";
import type { RevertMember } from "../../api/group-revert.ts";
import { DRIVER_NAME } from "../../api/names.ts";
import type { RevertView, SourceView } from "./view.ts";

/** Why it cannot be begun: `final` when waiting would not help. */
interface Obstacle {
  final: boolean;
  reason: string;
  message: string;
}

/** Who is to go back to what, read from the group snapshot. Pure. */
export function planOf({ revert, source }: RevertView): RevertMember[] | Obstacle {
  const { namespace = "" } = revert.metadata;
  const name = revert.spec.source.volumeGroupSnapshotName;
  const { groupSnapshot, content, claims } = source ?? NOTHING;
  if (groupSnapshot === undefined) {
    return wait("NoGroupSnapshot", `there is no VolumeGroupSnapshot ${namespace}/${name} yet`);
  }
  if (isDeleting(groupSnapshot)) {
    return never("GroupSnapshotDeleted", `VolumeGroupSnapshot ${namespace}/${name} is being deleted`);
  }
  if (content !== undefined && content.spec.driver !== DRIVER_NAME) {
    const why = `VolumeGroupSnapshot ${name} is of driver ${content.spec.driver}, which cannot put volumes back in place`;
    return never("OtherDriver", `${why}: restore it to new claims with a VolumeGroupRestore`);
  }
  if (groupSnapshot.status?.readyToUse !== true || content === undefined) {
    const error = groupSnapshot.status?.error?.message;
    const why = error === undefined ? "" : `: ${error}`;
    return wait(
      "GroupSnapshotNotReady",
      `VolumeGroupSnapshot ${namespace}/${name} is not ready to use${why}`,
    );
  }
  // A content of the same name that was made for another group is not one to go back to.
  if (content.spec.volumeGroupSnapshotRef.uid !== groupSnapshot.metadata.uid) {
    return never("OtherContent", `its content ${content.metadata.name} belongs to another group snapshot`);
  }
  const infos = content.status?.volumeSnapshotInfoList ?? [];
  if (infos.length === 0) return never("NoMembers", `content ${content.metadata.name} names no member`);
  const members: RevertMember[] = [];
  for (const { volumeHandle = "", snapshotHandle = "" } of infos) {
    const claim = claims.get(volumeHandle);
    // Who may write in one namespace does not go back in time for another.
    if (claim?.namespace !== namespace) {
      return never("NoClaim", `volume ${volumeHandle} has no claim in namespace ${namespace} any more`);
    }
    members.push({ claim: claim.name, volume: volumeHandle, snapshot: snapshotHandle });
  }
  return members;
}

const NOTHING: SourceView = { groupSnapshot: undefined, content: undefined, claims: new Map() };

function wait(reason: string, message: string): Obstacle {
  return { final: false, reason, message };
}

function never(reason: string, message: string): Obstacle {
  return { final: true, reason, message };
}
