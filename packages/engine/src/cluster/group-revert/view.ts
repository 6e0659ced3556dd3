import type { VolumeGroupSnapshot, VolumeGroupSnapshotContent } from "@mooring/store";
import type { RevertMember, RevertStatus, VolumeGroupRevert } from "../../api/group-revert.ts";
import type { Snapshot } from "../../api/snapshot.ts";
import type { Volume } from "../../api/volume.ts";

/** One member as it is now. */
export interface MemberView extends RevertMember {
  /** Undefined: it is gone. */
  object: Volume | undefined;
  /** Undefined: it is gone. */
  image: Snapshot | undefined;
  /** Ours alone: open on a ready node, by the ticket of its restore, where no workload reaches it. */
  held: boolean;
  /** Who has it instead: pods and tickets, or a node that is away. */
  users: string[];
}

/** Everything that a decision about a revert may depend on. */
export interface RevertView {
  revert: VolumeGroupRevert;
  /** Read while the members are not known. */
  source?: SourceView;
  members: MemberView[];
  /** `namespace/name` of an older revert of one of the volumes that is not finished, and the volume. */
  rival: { name: string; volume: string } | undefined;
  now: Date;
}

/** The group snapshot that a revert goes back to, as far as it is there. */
export interface SourceView {
  groupSnapshot: VolumeGroupSnapshot | undefined;
  content: VolumeGroupSnapshotContent | undefined;
  /** By volume handle: the claim that has it, as far as any has. */
  claims: ReadonlyMap<string, { namespace: string; name: string }>;
}

/** An event that goes with a status. */
export interface EventToEmit {
  type: "Normal" | "Warning";
  reason: string;
}

/** One visible change for a VolumeGroupRevert. */
export type RevertStep =
  | { do: "add-finalizer" }
  | { do: "remove-finalizer" }
  /** `event`: to be emitted; the message is that of the status. */
  | { do: "record"; status: RevertStatus; event?: EventToEmit }
  /** Requests all members; changes nothing in them. */
  | { do: "request" }
  /** The one write that decides. */
  | { do: "commit"; status: RevertStatus }
  /** Requests it of every member's node. */
  | { do: "order" }
  /** Releases members that stay as they were. */
  | { do: "release" };

/** What the Volume of a member is asked with; another revert of the same snapshot is another request. */
export function requestOf({ metadata }: VolumeGroupRevert): string {
  return `group-revert-${metadata.uid ?? ""}`;
}

/** True when the Volume has this revert's order. */
export function isAsked(revert: VolumeGroupRevert, volume: Volume): boolean {
  return volume.spec.restoreFrom?.request === requestOf(revert);
}

/** True when nothing is left to do for the member: it is back, or a user has deleted it meanwhile. */
export function isBack(revert: VolumeGroupRevert, { object }: MemberView): boolean {
  if (object === undefined || object.metadata.deletionTimestamp !== undefined) return true;
  const { restore } = object.status ?? {};
  return restore?.request === requestOf(revert) && restore.state === "Restored";
}

/** True once nothing more happens for the revert, well or not. */
export function isFinished({ status }: VolumeGroupRevert): boolean {
  return status?.phase === "Complete" || status?.phase === "Failed";
}
