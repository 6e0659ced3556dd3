import {
  defined,
  hasFinalizer,
  isDeleting,
  isOwnedBy,
  ownerReferenceTo,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
} from "@mooring/store";
import {
  BEING_DELETED,
  CONTENT_FINALIZER,
  MEMBER_OF_UID,
  SNAPSHOT_IN_GROUP_FINALIZER,
} from "../common/names.ts";
import {
  MEMBER_FINALIZERS,
  type Member,
  memberAnnotations,
  memberContentFor,
  memberContentStatus,
  memberLabels,
  memberSnapshotFor,
  memberStatus,
} from "./member.ts";

type MemberPatch = { metadata: { finalizers?: string[]; [field: string]: unknown }; spec?: object };

/** One change of one object of a member. */
export type MemberWrite =
  | { write: "create-content"; content: VolumeSnapshotContent }
  | { write: "create-snapshot"; snapshot: VolumeSnapshot }
  /** A merge patch, valid for the version of the object that is given. */
  | { write: "patch-content"; content: VolumeSnapshotContent; body: MemberPatch }
  | { write: "patch-snapshot"; snapshot: VolumeSnapshot; body: MemberPatch }
  | { write: "content-status"; content: VolumeSnapshotContent; status: object }
  /** `reported`: why it cannot be deleted alone, for an event. */
  | { write: "snapshot-status"; snapshot: VolumeSnapshot; status: object; reported?: string }
  | { write: "delete-content"; content: VolumeSnapshotContent }
  | { write: "delete-snapshot"; snapshot: VolumeSnapshot };

type Phase = (member: Member) => MemberWrite | undefined;

/**
 * What is missing next, for all members at once. A phase begins when the one before it is done for every member: all
 * VolumeSnapshots are there before the first content, which so is made with the UID that it is bound to, and nothing is ready
 * before both sides are bound.
 */
export function nextMemberWrites(
  group: VolumeGroupSnapshot,
  content: VolumeGroupSnapshotContent,
  members: readonly Member[],
  now: string,
): MemberWrite[] {
  const phases: Phase[] = [
    (member) =>
      member.snapshot === undefined
        ? { write: "create-snapshot", snapshot: memberSnapshotFor(group, content, member) }
        : undefined,
    (member) =>
      member.content === undefined
        ? { write: "create-content", content: memberContentFor(group, content, member) }
        : undefined,
    (member) => bindContent(group, content, member),
    (member) => adopt(group, member),
    (member) => {
      const status = memberContentStatus(content, member);
      return member.content === undefined || covers(member.content.status, status)
        ? undefined
        : { write: "content-status", content: member.content, status: { ...status, error: null } };
    },
    (member) => {
      const status = memberStatus(group, content, member, now);
      const { error, ...plain } = status;
      const before = member.snapshot?.status;
      if (member.snapshot === undefined) return undefined;
      if (covers(before, plain) && before?.error?.message === error?.message) return undefined;
      return {
        write: "snapshot-status",
        snapshot: member.snapshot,
        status: { ...status, error: error ?? null },
        ...defined({ reported: error?.message }),
      };
    },
  ];
  for (const phase of phases) {
    const writes = members.flatMap((member) => phase(member) ?? []);
    if (writes.length > 0) return writes;
  }
  return [];
}

/** The content refers to its snapshot and its group, and follows the group's content. */
function bindContent(
  group: VolumeGroupSnapshot,
  content: VolumeGroupSnapshotContent,
  { content: own, snapshot }: Member,
): MemberWrite | undefined {
  if (own === undefined || snapshot === undefined) return undefined;
  const annotations = memberAnnotations(group, content);
  const { metadata, spec } = own;
  const { uid } = snapshot.metadata;
  const { deletionPolicy } = content.spec;
  const isProtected = isDeleting(own) || hasFinalizer(own, CONTENT_FINALIZER);
  const same =
    isProtected &&
    covers(metadata.annotations, annotations) &&
    spec.volumeSnapshotRef.uid === uid &&
    spec.deletionPolicy === deletionPolicy;
  if (same) return undefined;
  const finalizers = isProtected ? {} : { finalizers: [...(metadata.finalizers ?? []), CONTENT_FINALIZER] };
  return {
    write: "patch-content",
    content: own,
    body: {
      metadata: { annotations, ...finalizers },
      spec: { volumeSnapshotRef: { ...spec.volumeSnapshotRef, uid }, deletionPolicy },
    },
  };
}

/** A VolumeSnapshot that a user made for a member joins the group. */
function adopt(group: VolumeGroupSnapshot, { snapshot }: Member): MemberWrite | undefined {
  const { uid } = group.metadata;
  if (snapshot === undefined || uid === undefined || isDeleting(snapshot)) return undefined;
  const missing = MEMBER_FINALIZERS.filter((finalizer) => !hasFinalizer(snapshot, finalizer));
  if (isOwnedBy(snapshot, uid) && missing.length === 0) return undefined;
  const finalizers = [...(snapshot.metadata.finalizers ?? []), ...missing];
  return {
    write: "patch-snapshot",
    snapshot,
    body: {
      metadata: {
        labels: memberLabels(group),
        finalizers,
        ownerReferences: ownersWith(group, snapshot),
      },
    },
  };
}

function ownersWith(group: VolumeGroupSnapshot, { metadata: { ownerReferences = [] } }: VolumeSnapshot) {
  const others = ownerReferences.filter(({ uid }) => uid !== group.metadata.uid);
  return [...others, ownerReferenceTo(group, { controller: others.length === 0 })];
}

/**
 * Members that lost their owner, as `kubectl delete --cascade=orphan` does it, get it back before anything is deleted:
 * they cannot outlive their group, and by their owner they are found again after a crash.
 */
export function nextReclaims(
  group: VolumeGroupSnapshot,
  snapshots: readonly VolumeSnapshot[],
): MemberWrite[] {
  return snapshots
    .filter((snapshot) => !isOwnedBy(snapshot, group.metadata.uid ?? ""))
    .map((snapshot) => ({
      write: "patch-snapshot",
      snapshot,
      body: { metadata: { ownerReferences: ownersWith(group, snapshot) } },
    }));
}

/** Members whose objects another owner has taken, and that so cannot be bound. */
export function misboundMembers(group: VolumeGroupSnapshot, members: readonly Member[]): string[] {
  return members.flatMap(({ content, names, snapshot }) => {
    const owner = content?.metadata.annotations?.[MEMBER_OF_UID];
    if (owner !== undefined && owner !== group.metadata.uid)
      return [`VolumeSnapshotContent ${names.content} is a member of another group snapshot`];
    if (snapshot === undefined || isOwnedBy(snapshot, group.metadata.uid ?? "")) return [];
    return snapshot.spec.source.volumeSnapshotContentName === names.content
      ? []
      : [`VolumeSnapshot ${names.snapshot} exists and is not for content ${names.content}`];
  });
}

/**
 * What is left to do until members are gone, without a call to the driver: their data went with the group's, or is
 * kept. First contents, then snapshots.
 */
export function nextReleaseWrites(
  snapshots: readonly VolumeSnapshot[],
  contents: readonly VolumeSnapshotContent[],
): MemberWrite[] {
  const unmarked = contents.filter(({ metadata }) => metadata.annotations?.[BEING_DELETED] === undefined);
  if (unmarked.length > 0)
    return unmarked.map((content) => ({
      write: "patch-content",
      content,
      body: { metadata: { annotations: { [BEING_DELETED]: "yes" } } },
    }));
  const undeleted = contents.filter((each) => each.spec.deletionPolicy === "Delete" && !isDeleting(each));
  if (undeleted.length > 0) return undeleted.map((content) => ({ write: "delete-content", content }));
  const protectedContents = contents.filter((content) => hasFinalizer(content, CONTENT_FINALIZER));
  if (protectedContents.length > 0)
    return protectedContents.map((content) => ({
      write: "patch-content",
      content,
      body: { metadata: { finalizers: without(content.metadata.finalizers, [CONTENT_FINALIZER]) } },
    }));
  const free = nextSnapshotDeletes(snapshots);
  if (free.length > 0) return free;
  return snapshots
    .filter((snapshot) => MEMBER_FINALIZERS.some((finalizer) => hasFinalizer(snapshot, finalizer)))
    .map((snapshot) => ({
      write: "patch-snapshot",
      snapshot,
      body: { metadata: { finalizers: without(snapshot.metadata.finalizers, MEMBER_FINALIZERS) } },
    }));
}

/** A VolumeSnapshot under deletion cannot become the source of anything new, and stays until its group lets it go. */
export function nextSnapshotDeletes(snapshots: readonly VolumeSnapshot[]): MemberWrite[] {
  return snapshots
    .filter((snapshot) => !isDeleting(snapshot))
    .map((snapshot) =>
      hasFinalizer(snapshot, SNAPSHOT_IN_GROUP_FINALIZER)
        ? { write: "delete-snapshot", snapshot }
        : {
            write: "patch-snapshot",
            snapshot,
            body: {
              metadata: {
                finalizers: [...(snapshot.metadata.finalizers ?? []), SNAPSHOT_IN_GROUP_FINALIZER],
              },
            },
          },
    );
}

function without(values: readonly string[] = [], gone: readonly string[]): string[] {
  return values.filter((value) => !gone.includes(value));
}

/** Whether everything wanted is there already. */
function covers(have: object | undefined, want: object): boolean {
  const fields = (have ?? {}) as Record<string, unknown>;
  return Object.entries(want).every(([key, value]) => fields[key] === value);
}
