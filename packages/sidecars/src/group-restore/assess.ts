import { isDeleting, type PersistentVolumeClaim } from "@mooring/store";
import { SELECTED_NODE } from "../common/names.ts";
import type { MemberPhase, MemberStatus, VolumeGroupRestore } from "../kube/group-restore.ts";
import { isForeign, takenMessage } from "./foreign.ts";
import type { GroupRestoreView } from "./view.ts";

interface Assessment {
  phase: MemberPhase;
  message: string;
}

/** Begins the message of a claim whose provisioner has reported what it lacks. */
export const NO_VOLUME_YET = "has no volume yet: ";

/** How far one claim is; `create`: nothing stands in the way of making it. */
export function assess(
  view: GroupRestoreView,
  restore: VolumeGroupRestore,
  member: MemberStatus,
): Assessment | "create" {
  const claim = view.claims.get(member.claimName);
  const complete = isComplete(restore);
  if (complete && (claim === undefined || isForeign(claim, restore)))
    return { phase: "Deleted", message: "the claim was deleted after the restore was complete" };
  if (claim === undefined) return assessMissing(view, member);
  if (isForeign(claim, restore)) return { phase: "Failed", message: takenMessage(member.claimName) };
  if (isDeleting(claim))
    return complete
      ? { phase: "Deleted", message: "the claim is being deleted" }
      : { phase: "Pending", message: "the claim is being deleted, and will be made again when it is gone" };
  return assessClaim(view, claim);
}

/** A restore that was complete once never makes another claim. */
export function isComplete(restore: VolumeGroupRestore): boolean {
  return (
    restore.status?.conditions?.some(({ type, status }) => type === "Complete" && status === "True") ?? false
  );
}

function assessMissing(view: GroupRestoreView, member: MemberStatus): Assessment | "create" {
  const refusal = view.refused.get(member.claimName);
  if (refusal !== undefined && view.backoffMs > 0) return { phase: "Failed", message: refusal };
  const { snapshotName, snapshotUID } = member;
  const snapshot = view.members.find(({ snapshot: { metadata } }) => metadata.uid === snapshotUID)?.snapshot;
  if (snapshot !== undefined && !isDeleting(snapshot)) return "create";
  const state = snapshot === undefined ? "does not exist any more" : "is being deleted";
  return { phase: "Failed", message: `VolumeSnapshot ${snapshotName} ${state}` };
}

function assessClaim({ classes, troubles }: GroupRestoreView, claim: PersistentVolumeClaim): Assessment {
  const { phase } = claim.status ?? {};
  const volume = claim.spec?.volumeName;
  if (phase === "Bound") return { phase: "Bound", message: `bound to ${volume}` };
  if (phase === "Lost") return { phase: "Failed", message: `its PersistentVolume ${volume} is lost` };
  const storageClass = classes.find(({ metadata }) => metadata.name === claim.spec?.storageClassName);
  const late = storageClass?.volumeBindingMode === "WaitForFirstConsumer";
  if (late && !claim.metadata.annotations?.[SELECTED_NODE])
    return { phase: "WaitForFirstConsumer", message: "the volume is made when a Pod uses the claim" };
  const trouble = troubles.get(claim.metadata.name);
  const waits = `waits for its volume (mooring why pvc/${claim.metadata.name})`;
  return { phase: "Provisioning", message: trouble === undefined ? waits : `${NO_VOLUME_YET}${trouble}` };
}
