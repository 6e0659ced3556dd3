import { isDeleting, type PersistentVolumeClaim } from "@mooring/store";
import { lockOf } from "../common/member-lock.ts";
import { FOREIGN_FINALIZERS, WANTED_GROUP } from "../common/volume-group-names.ts";
import type { VolumeGroup } from "../kube/volume-group.ts";
import { asksFor, takesWhatIsThere } from "./selection.ts";
import type { Candidate, StorageView } from "./view.ts";

/** What a claim is to a group. */
export type TicketResult =
  /** The group has it, and its volume belongs into the group. `lost`: the PersistentVolume is gone. */
  | { kind: "member"; handle: string; lost: boolean }
  /** The group has it, and its volume has to leave. */
  | { kind: "leave"; handle: string; reason: string; message: string }
  /** The group does not have it yet, and can take it. */
  | { kind: "join"; handle: string }
  /** It becomes a member by itself when it can be. */
  | { kind: "wait"; reason: string; message: string }
  /** It cannot be a member. `handle`: the group has it all the same, and has to release it. */
  | { kind: "left-out"; reason: string; message: string; handle?: string };

/** What decides whether a claim may be in the group, besides the claim itself. */
export interface Surroundings {
  group: VolumeGroup;
  driver: string;
  /** The volumes that are in the group. */
  actual: ReadonlySet<string>;
  refused: StorageView["refused"];
}

/** Undefined: it is none of the group's business. */
export function assessClaim(around: Surroundings, candidate: Candidate): TicketResult | undefined {
  const lock = lockOf(candidate.claim);
  if (lock?.uid === around.group.metadata.uid) return assessProtected(around, candidate, lock?.handle ?? "");
  if (isDeleting(candidate.claim)) return undefined;
  return assessNew(around, candidate);
}

function assessProtected(around: Surroundings, { claim, volume }: Candidate, handle: string): TicketResult {
  const leave = (reason: string, message: string): TicketResult => ({
    kind: "leave",
    handle,
    reason,
    message,
  });
  if (isDeleting(claim)) return leave("ClaimDeleted", "the claim is being deleted");
  const { actual, refused } = around;
  const objection = objectionTo(around, claim, handle);
  if (objection !== undefined) return leave(objection.reason, objection.message);
  const refusal = refused.get(handle);
  if (refusal !== undefined && !actual.has(handle))
    return { kind: "left-out", reason: "RefusedByDriver", message: refusal.message, handle };
  return { kind: "member", handle, lost: volume === undefined };
}

/** Why a claim that the group keeps belongs to it no more; undefined: the group still asks for it. */
export function objectionTo(
  { actual, group }: Pick<Surroundings, "actual" | "group">,
  claim: PersistentVolumeClaim,
  handle: string,
): { reason: string; message: string } | undefined {
  const elsewhere = wishElsewhere(group, claim.metadata.annotations);
  if (elsewhere !== undefined) return { reason: "NamesAnotherGroup", message: elsewhere };
  if (asksFor(group, claim) || (takesWhatIsThere(group) && actual.has(handle))) return undefined;
  return { reason: "NotSelected", message: "the group does not ask for this claim any more" };
}

function assessNew(
  { driver, group, refused }: Surroundings,
  { claim, owner, volume }: Candidate,
): TicketResult {
  const leftOut = (reason: string, message: string): TicketResult => ({ kind: "left-out", reason, message });
  const wait = (reason: string, message: string): TicketResult => ({ kind: "wait", reason, message });
  const elsewhere = wishElsewhere(group, claim.metadata.annotations);
  if (elsewhere !== undefined) return leftOut("NamesAnotherGroup", elsewhere);
  if (owner !== undefined)
    return leftOut(
      "InAnotherGroup",
      `the claim is in VolumeGroup ${owner}; it stays there until that lets it go`,
    );
  const foreign = FOREIGN_FINALIZERS.find((name) => claim.metadata.finalizers?.includes(name) === true);
  if (foreign !== undefined)
    return leftOut("InAnotherGroup", `another operator has the claim in a group (finalizer ${foreign})`);
  const name = claim.spec?.volumeName;
  if (claim.status?.phase !== "Bound" || !name) return wait("NotBound", "the claim has no volume yet");
  if (volume === undefined) return wait("VolumeMissing", `PersistentVolume ${name} does not exist`);
  if (volume.spec?.claimRef?.uid !== claim.metadata.uid)
    return wait("NotBound", `PersistentVolume ${name} is not bound to the claim`);
  const { csi } = volume.spec ?? {};
  if (csi?.driver !== driver)
    return leftOut(
      "OtherDriver",
      `its volume is of ${csi?.driver ?? "no CSI driver"}, the group is of ${driver}`,
    );
  const refusal = refused.get(csi.volumeHandle);
  if (refusal !== undefined) return leftOut("RefusedByDriver", refusal.message);
  return { kind: "join", handle: csi.volumeHandle };
}

/** A claim that names its group is for that one only. */
function wishElsewhere(
  { metadata: { name } }: VolumeGroup,
  annotations: Record<string, string> | undefined,
): string | undefined {
  const wish = annotations?.[WANTED_GROUP];
  return wish === undefined || wish === "" || wish === name
    ? undefined
    : `the claim asks for VolumeGroup ${wish} (annotation ${WANTED_GROUP})`;
}
