import { RESTORE_UID, type VolumeGroupRestore } from "../kube/group-restore.ts";

/** A claim that this very restore has not made. */
export function isForeign(
  claim: { metadata: { annotations?: Record<string, string> } } | undefined,
  restore: VolumeGroupRestore,
): boolean {
  return claim !== undefined && claim.metadata.annotations?.[RESTORE_UID] !== restore.metadata.uid;
}

/** The message of a restore whose claim's name is taken, with what the user can do. */
export const takenMessage = (claimName: string): string =>
  `claim ${claimName} exists and is not of this restore: delete it, or restore under another name (spec.claimNameTemplate, spec.members[].name)`;
