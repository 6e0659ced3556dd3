import {
  isDeleting,
  keyOf,
  type PersistentVolumeClaim,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
} from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { groupOwnerOf, isMemberContent } from "../common/group-member.ts";
import { groupContentNameOf } from "../common/group-snapshot-names.ts";
import { MEMBER_OF_UID } from "../common/names.ts";
import { patienceLeft } from "../common/patience.ts";
import { rfc3339 } from "../common/time.ts";
import { membersOf } from "./member.ts";
import { claimsInside, readNamedGroup } from "./of-volume-group.ts";
import { type Candidate, selects } from "./sources.ts";
import type { GroupSnapshotView, NamedGroup } from "./view.ts";

type Fresh = { fresh: boolean };

/**
 * Reads what a decision about a group snapshot needs. `fresh`: an earlier step met outdated caches, so the server itself is
 * asked.
 */
export async function readGroupView(
  context: SidecarContext,
  key: string,
  { fresh }: Fresh,
): Promise<GroupSnapshotView> {
  const { cluster, driver, now } = context;
  const group = await readGroup(context, key, fresh);
  if (fresh) await refreshMembers(context, key, group);
  const content = group === undefined ? undefined : await readContent(context, group, fresh);
  const isUndecided = group !== undefined && content === undefined && !isDeleting(group);
  const named = isUndecided ? await readNamedGroup(context, group, fresh) : undefined;
  const className = content?.spec.volumeGroupSnapshotClassName ?? group?.spec.volumeGroupSnapshotClassName;
  return {
    driver: driver.info.name,
    capable: driver.info.groupSnapshots,
    group,
    content,
    groupClass: cluster.groupClasses.get(className ?? ""),
    classes: cluster.groupClasses.list(),
    named,
    candidates: isUndecided ? await candidatesFor(context, group, { named, fresh }) : [],
    members: group === undefined || content === undefined ? [] : readMembers(context, group, content),
    owned: ownedBy(context, group?.metadata.uid),
    orphans: orphansOf(context, key, group),
    now: rfc3339(now()),
    patienceMs: content === undefined ? 0 : patienceLeft(now(), content, context.asked),
    backoffMs: 0,
  };
}

/** Before the controller takes members for orphans, it asks the server itself whether their group is gone. */
async function readGroup(
  { cluster }: SidecarContext,
  key: string,
  fresh: boolean,
): Promise<VolumeGroupSnapshot | undefined> {
  const known = cluster.groups.get(key);
  const doubted = cluster.snapshots
    .byIndex("groupName", key)
    .some((snapshot) => groupOwnerOf(snapshot)?.uid !== known?.metadata.uid);
  return fresh || doubted ? cluster.groups.refresh(key) : known;
}

/** Before a group goes without its content, the controller asks the server itself whether there is none. */
async function readContent(
  { cluster }: SidecarContext,
  group: VolumeGroupSnapshot,
  fresh: boolean,
): Promise<VolumeGroupSnapshotContent | undefined> {
  const name = groupContentNameOf(group);
  const known = cluster.groupContents.get(name);
  return fresh || (known === undefined && isDeleting(group)) ? cluster.groupContents.refresh(name) : known;
}

async function candidatesFor(
  { cluster }: SidecarContext,
  group: VolumeGroupSnapshot,
  { fresh, named }: Fresh & { named: NamedGroup | undefined },
): Promise<Candidate[]> {
  const { namespace = "" } = group.metadata;
  const matching = () =>
    named === undefined
      ? cluster.claims.byIndex("namespace", namespace).filter((claim) => selects(group, claim))
      : claimsInside(named).flatMap((name) => cluster.claims.get(`${namespace}/${name}`) ?? []);
  if (fresh) await Promise.all(matching().map((claim) => cluster.claims.refresh(keyOf(claim))));
  return matching()
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .map((claim) => ({ claim, volume: volumeOf(cluster, claim) }));
}

function volumeOf({ volumes }: SidecarContext["cluster"], { spec }: PersistentVolumeClaim) {
  return volumes.get(spec?.volumeName ?? "");
}

function readMembers(
  { cluster }: SidecarContext,
  group: VolumeGroupSnapshot,
  content: VolumeGroupSnapshotContent,
) {
  return membersOf(group, content, {
    content: (name) => cluster.contents.get(name),
    snapshot: (namespace, name) => cluster.snapshots.get(`${namespace}/${name}`),
    imported: (driver, handle) => cluster.contents.byIndex("imported", `${driver}:${handle}`),
  });
}

interface Objects {
  snapshots: VolumeSnapshot[];
  contents: VolumeSnapshotContent[];
}

/** Members by their owner, and by their contents where a user has taken the owner away. */
function ownedBy({ cluster }: SidecarContext, uid: string | undefined): Objects {
  if (uid === undefined) return { snapshots: [], contents: [] };
  const contents = cluster.contents.byIndex("group", uid);
  const snapshots = new Map(cluster.snapshots.byIndex("group", uid).map((each) => [keyOf(each), each]));
  for (const { spec } of contents) {
    const { name, namespace, uid: bound } = spec.volumeSnapshotRef;
    const snapshot = cluster.snapshots.get(`${namespace}/${name}`);
    if (snapshot !== undefined && snapshot.metadata.uid === bound) snapshots.set(keyOf(snapshot), snapshot);
  }
  return { snapshots: [...snapshots.values()], contents };
}

/** Only what a user deletes, and only what no other driver has. */
function orphansOf(
  { cluster, driver }: SidecarContext,
  key: string,
  group: VolumeGroupSnapshot | undefined,
): Objects {
  const contentOf = (snapshot: VolumeSnapshot) =>
    cluster.contents.get(snapshot.status?.boundVolumeSnapshotContentName ?? "");
  const snapshots = cluster.snapshots
    .byIndex("groupName", key)
    .filter((snapshot) => groupOwnerOf(snapshot)?.uid !== group?.metadata.uid && isDeleting(snapshot))
    .filter((snapshot) => (contentOf(snapshot)?.spec.driver ?? driver.info.name) === driver.info.name);
  const contents = snapshots.flatMap((snapshot) => {
    const content = contentOf(snapshot);
    const own =
      content !== undefined &&
      isMemberContent(content) &&
      content.metadata.annotations?.[MEMBER_OF_UID] === groupOwnerOf(snapshot)?.uid;
    return own ? [content] : [];
  });
  return { snapshots, contents };
}

async function refreshMembers(
  { cluster }: SidecarContext,
  key: string,
  group: VolumeGroupSnapshot | undefined,
): Promise<void> {
  const content = group && cluster.groupContents.get(groupContentNameOf(group));
  const planned = group === undefined || content === undefined ? [] : membersOf(group, content, NOWHERE);
  const namespace = group?.metadata.namespace ?? "";
  const snapshots = new Set([
    ...cluster.snapshots.byIndex("groupName", key).map(keyOf),
    ...planned.map(({ names }) => `${namespace}/${names.snapshot}`),
  ]);
  const contents = new Set([
    ...cluster.contents.byIndex("group", group?.metadata.uid ?? "").map(keyOf),
    ...planned.map(({ names }) => names.content),
  ]);
  await Promise.all([
    ...[...snapshots].map((each) => cluster.snapshots.refresh(each)),
    ...[...contents].map((each) => cluster.contents.refresh(each)),
  ]);
}

const NOWHERE = { content: () => undefined, snapshot: () => undefined, imported: () => [] };
