import type {
  VolumeGroupSnapshot,
  VolumeGroupSnapshotClass,
  VolumeGroupSnapshotContent,
  VolumeSnapshot,
  VolumeSnapshotContent,
} from "@mooring/store";
import type { VolumeGroup } from "../kube/volume-group.ts";
import type { Member } from "./member.ts";
import type { MemberWrite } from "./member-writes.ts";
import type { Candidate, SourceProblem } from "./sources.ts";

/** What a decision about one VolumeGroupSnapshot needs. */
export interface GroupSnapshotView {
  driver: string;
  /** The driver has CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT. */
  capable: boolean;
  group: VolumeGroupSnapshot | undefined;
  /** The content that the group is, wants to be, or would be bound to. */
  content: VolumeGroupSnapshotContent | undefined;
  groupClass: VolumeGroupSnapshotClass | undefined;
  /** All classes, to find the default one. */
  classes: readonly VolumeGroupSnapshotClass[];
  /** The VolumeGroup that it is of, where it names one; read only while there is no content. */
  named?: NamedGroup | undefined;
  /** Claims that the selector matches, or that are in the VolumeGroup; read only while there is no content. */
  candidates: readonly Candidate[];
  /** Members that the content lists. */
  members: readonly Member[];
  /** Objects that belong to this group, whatever its content has. */
  owned: { snapshots: readonly VolumeSnapshot[]; contents: readonly VolumeSnapshotContent[] };
  /** Members of a group of this name that is gone, and are being deleted. */
  orphans: { snapshots: readonly VolumeSnapshot[]; contents: readonly VolumeSnapshotContent[] };
  /** RFC 3339, for errors that are new. */
  now: string;
  /** Milliseconds that the driver may still take for the content before it is slow. */
  patienceMs: number;
  backoffMs: number;
}

/** Reasons of the events that a status brings with it. */
export type GroupSnapshotEvent = "GroupSnapshotCreated" | "GroupSnapshotReady";

/** One visible change for a VolumeGroupSnapshot. */
export type GroupSnapshotStep =
  | { do: "add-finalizer" }
  /** For a freeze of the VolumeGroup, after an attempt that has failed. */
  | { do: "ask-again" }
  | { do: "create-content"; content: VolumeGroupSnapshotContent }
  | { do: "bind-content"; className: string | undefined; annotations: Record<string, string> }
  | { do: "write-members"; writes: readonly MemberWrite[] }
  /** `creating`: the driver has not responded yet. */
  | {
      do: "write-status";
      status: NonNullable<VolumeGroupSnapshot["status"]>;
      creating: boolean;
      events: GroupSnapshotEvent[];
    }
  | ReportStep
  | { do: "mark-being-deleted" }
  | { do: "delete-content" }
  | { do: "release" };

/**
 * What an operator has to know: an event, the status's error, and events of the claims that it is about.
 */
export interface ReportStep {
  do: "report";
  reason: string;
  message: string;
  /** Events of single claims. */
  ofClaims?: SourceProblem["ofClaims"];
}

/** A {@link ReportStep}. */
export function report(
  reason: string,
  message: string,
  ofClaims: SourceProblem["ofClaims"] = [],
): ReportStep {
  return { do: "report", reason, message, ...(ofClaims.length === 0 ? {} : { ofClaims }) };
}

/** Whether a content is bound to exactly this group snapshot. */
export function refersTo(
  { spec: { volumeGroupSnapshotRef: ref } }: VolumeGroupSnapshotContent,
  { metadata }: VolumeGroupSnapshot,
): boolean {
  return ref.uid === metadata.uid && ref.name === metadata.name && ref.namespace === metadata.namespace;
}

/** The VolumeGroup that a group snapshot names, as far as it is there. */
export interface NamedGroup {
  name: string;
  /** False: the cluster has no VolumeGroups at all. */
  isServed: boolean;
  group: VolumeGroup | undefined;
}
