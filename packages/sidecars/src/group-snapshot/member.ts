import {
  defined,
  formatQuantity,
  ownerReferenceTo,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  type VolumeSnapshotInfo,
} from "@mooring/store";
import { memberNames } from "../common/group-snapshot-names.ts";
import {
  CONTENT_FINALIZER,
  GROUP_SECRET_NAME,
  GROUP_SECRET_NAMESPACE,
  MEMBER_OF_HANDLE,
  MEMBER_OF_LABEL,
  MEMBER_OF_UID,
  SNAPSHOT_BOUND_FINALIZER,
  SNAPSHOT_FINALIZER,
  SNAPSHOT_IN_GROUP_FINALIZER,
  SNAPSHOT_SECRET_NAME,
  SNAPSHOT_SECRET_NAMESPACE,
} from "../common/names.ts";
import { rfc3339 } from "../common/time.ts";
import { recordedSources } from "./content-for.ts";

const SNAPSHOT_VERSION = "snapshot.storage.k8s.io/v1";

/** A member that there should be, and what there is of it. */
export interface Member {
  info: VolumeSnapshotInfo & { snapshotHandle: string };
  names: { snapshot: string; content: string };
  content: VolumeSnapshotContent | undefined;
  snapshot: VolumeSnapshot | undefined;
}

/** Where members are found. */
interface MemberLookup {
  content(name: string): VolumeSnapshotContent | undefined;
  snapshot(namespace: string, name: string): VolumeSnapshot | undefined;
  /** Contents that an administrator made for a snapshot handle that exists already. */
  imported(driver: string, snapshotHandle: string): readonly VolumeSnapshotContent[];
}

/**
 * The members that a content's status lists. A group that was brought in may come with objects for its members; beside
 * the members of any other, a content for the same snapshot is not this group's business.
 */
export function membersOf(
  group: VolumeGroupSnapshot,
  content: VolumeGroupSnapshotContent,
  lookup: MemberLookup,
): Member[] {
  const { namespace = "", uid = "" } = group.metadata;
  const isImported = content.spec.source.groupSnapshotHandles !== undefined;
  return (content.status?.volumeSnapshotInfoList ?? []).flatMap((info) => {
    const { snapshotHandle } = info;
    if (!snapshotHandle) return [];
    const own = memberNames(uid, info.volumeHandle || snapshotHandle);
    const imports = isImported && lookup.content(own.content) === undefined;
    const given = (imports ? lookup.imported(content.spec.driver, snapshotHandle) : []).find(
      ({ spec }) => spec.volumeSnapshotRef.namespace === namespace,
    );
    const names =
      given === undefined
        ? own
        : { content: given.metadata.name, snapshot: given.spec.volumeSnapshotRef.name };
    return {
      info: { ...info, snapshotHandle },
      names,
      content: given ?? lookup.content(names.content),
      snapshot: lookup.snapshot(namespace, names.snapshot),
    };
  });
}

/** Annotations that make a content a member's. */
export function memberAnnotations(
  group: VolumeGroupSnapshot,
  content: VolumeGroupSnapshotContent,
): Record<string, string> {
  const { annotations = {} } = content.metadata;
  const [name, namespace] = [annotations[GROUP_SECRET_NAME], annotations[GROUP_SECRET_NAMESPACE]];
  return {
    [MEMBER_OF_HANDLE]: content.status?.volumeGroupSnapshotHandle ?? "",
    [MEMBER_OF_UID]: group.metadata.uid ?? "",
    ...(name && namespace ? { [SNAPSHOT_SECRET_NAME]: name, [SNAPSHOT_SECRET_NAMESPACE]: namespace } : {}),
  };
}

/**
 * A member's content. It stands for a volume when the claim is known, and for a snapshot that was brought in otherwise;
 * its VolumeSnapshot has the source that fits.
 */
export function memberContentFor(
  group: VolumeGroupSnapshot,
  content: VolumeGroupSnapshotContent,
  { info, names, snapshot }: Member,
): VolumeSnapshotContent {
  const source = recordedSources(content)[info.volumeHandle ?? ""];
  return {
    apiVersion: SNAPSHOT_VERSION,
    kind: "VolumeSnapshotContent",
    metadata: {
      name: names.content,
      finalizers: [CONTENT_FINALIZER],
      annotations: memberAnnotations(group, content),
    },
    spec: {
      volumeSnapshotRef: {
        apiVersion: SNAPSHOT_VERSION,
        kind: "VolumeSnapshot",
        name: names.snapshot,
        namespace: group.metadata.namespace ?? "",
        ...defined({ uid: snapshot?.metadata.uid }),
      },
      deletionPolicy: content.spec.deletionPolicy,
      driver: content.spec.driver,
      source:
        source === undefined
          ? { snapshotHandle: info.snapshotHandle }
          : { volumeHandle: info.volumeHandle ?? "" },
      ...defined({ sourceVolumeMode: source?.mode }),
    },
  };
}

/** A label's value has at most 63 characters: a longer name is found by the owner reference alone. */
const LONGEST_LABEL = 63;

/** The label by which the members of a group snapshot are listed. */
export function memberLabels({ metadata: { name } }: VolumeGroupSnapshot): Record<string, string> {
  return name.length > LONGEST_LABEL ? {} : { [MEMBER_OF_LABEL]: name };
}

/** What keeps a member in place while its group is there. */
export const MEMBER_FINALIZERS = [
  SNAPSHOT_FINALIZER,
  SNAPSHOT_BOUND_FINALIZER,
  SNAPSHOT_IN_GROUP_FINALIZER,
] as const;

/** The VolumeSnapshot of a member. */
export function memberSnapshotFor(
  group: VolumeGroupSnapshot,
  content: VolumeGroupSnapshotContent,
  { content: memberContent, info, names }: Member,
): VolumeSnapshot {
  const source = recordedSources(content)[info.volumeHandle ?? ""];
  // A content that stands for a snapshot is named; the other is bound by its reference.
  const ofClaim = source !== undefined && memberContent?.spec.source.snapshotHandle === undefined;
  return {
    apiVersion: SNAPSHOT_VERSION,
    kind: "VolumeSnapshot",
    metadata: {
      name: names.snapshot,
      namespace: group.metadata.namespace ?? "",
      labels: memberLabels(group),
      finalizers: [...MEMBER_FINALIZERS],
      ownerReferences: [ownerReferenceTo(group)],
    },
    spec: {
      source: ofClaim
        ? { persistentVolumeClaimName: source.claim }
        : { volumeSnapshotContentName: names.content },
    },
  };
}

/** A member's content, from what the driver returned of the group. */
export function memberContentStatus(
  content: VolumeGroupSnapshotContent,
  { info }: Member,
): NonNullable<VolumeSnapshotContent["status"]> {
  const { creationTime, readyToUse = false, restoreSize, snapshotHandle } = info;
  const handle = content.status?.volumeGroupSnapshotHandle;
  return {
    snapshotHandle,
    readyToUse,
    ...defined({ volumeGroupSnapshotHandle: handle, creationTime, restoreSize }),
  };
}

/** The status of a member's VolumeSnapshot; `now` is RFC 3339. */
export function memberStatus(
  group: VolumeGroupSnapshot,
  content: VolumeGroupSnapshotContent,
  { info, names, snapshot }: Member,
  now: string,
): NonNullable<VolumeSnapshot["status"]> {
  const { creationTime, readyToUse = false, restoreSize } = info;
  const createdAt = creationTime === undefined ? content.status?.creationTime : rfc3339(creationTime / 1e6);
  const message = snapshot?.metadata.deletionTimestamp && cannotGo(group);
  const before = snapshot?.status?.error;
  return {
    boundVolumeSnapshotContentName: names.content,
    volumeGroupSnapshotName: group.metadata.name,
    readyToUse,
    ...defined({ creationTime: createdAt }),
    ...(restoreSize === undefined ? {} : { restoreSize: formatQuantity(BigInt(restoreSize)) }),
    ...(message ? { error: before?.message === message ? before : { message, time: now } } : {}),
  };
}

/** Reported on a member that a user deletes by itself. */
function cannotGo({ metadata: { name } }: VolumeGroupSnapshot): string {
  return `a member of group snapshot ${name} cannot be deleted alone: it goes when VolumeGroupSnapshot ${name} is deleted`;
}
