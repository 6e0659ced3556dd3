import {
  keyOf,
  listAll,
  type PersistentVolumeClaim,
  type VolumeGroupSnapshot,
  type VolumeSnapshot,
  VolumeSnapshots,
} from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { rfc3339 } from "../common/time.ts";
import type { VolumeGroupRestore } from "../kube/group-restore.ts";
import type { Refusals } from "./apply.ts";
import { claimNameFor } from "./claim-names.ts";
import type { GroupTarget } from "./into-group.ts";
import { preflight } from "./preflight.ts";
import type { Troubles } from "./troubles.ts";
import type { GroupRestoreView, MemberView } from "./view.ts";

/** What this process has noticed of restores, by their UID. */
interface Noticed {
  refusals: Refusals;
  troubles: Troubles;
}

/** Reads a restore, its group snapshot with all members, and what has become of the claims. */
export async function readGroupRestore(
  from: SidecarContext,
  noticed: Noticed,
  key: string,
  fresh: boolean,
): Promise<GroupRestoreView> {
  const { groupRestores } = from.cluster;
  const restore = fresh ? await groupRestores.refresh(key) : groupRestores.get(key);
  const view = await viewOf(from, noticed, restore, fresh);
  return fresh || !isFailing(view) ? view : viewOf(from, noticed, restore, true);
}

/** The watches of several kinds are not in step: before the controller reports something missing, it asks the server. */
function isFailing(view: GroupRestoreView): boolean {
  const { restore } = view;
  if (restore === undefined || restore.status?.members !== undefined) return false;
  return preflight(view, restore).kind === "fail";
}

/** Claims for which a restore waits; a restore that is ready waits for none. */
function claimsMade(
  { status }: VolumeGroupRestore,
  claims: ReadonlyMap<string, PersistentVolumeClaim>,
): PersistentVolumeClaim[] {
  if (status?.phase === "Ready") return [];
  return status?.members?.flatMap(({ claimName }) => claims.get(claimName) ?? []) ?? [];
}

async function viewOf(
  from: SidecarContext,
  { refusals, troubles }: Noticed,
  restore: VolumeGroupRestore | undefined,
  fresh: boolean,
): Promise<GroupRestoreView> {
  const { cluster, driver, now } = from;
  const uid = restore?.metadata.uid ?? "";
  const base = {
    driver: driver.info.name,
    now: rfc3339(now()),
    ...refusals.of(uid),
    classes: cluster.classes.list(),
  };
  if (restore === undefined)
    return {
      ...base,
      restore,
      groupSnapshot: undefined,
      content: undefined,
      members: [],
      claims: new Map(),
      troubles: new Map(),
    };
  const group = keyOf({
    metadata: { ...restore.metadata, name: restore.spec.source.volumeGroupSnapshotName },
  });
  const groupSnapshot = fresh ? await cluster.groups.refresh(group) : cluster.groups.get(group);
  if (fresh) await refreshSnapshots(from, restore);
  const members = membersOf(from, restore, group);
  const claims = await claimsOf(from, { restore, members }, fresh);
  return {
    ...base,
    restore,
    groupSnapshot,
    content: await contentOf(from, groupSnapshot, fresh),
    members,
    claims,
    target: await targetOf(from, restore, fresh),
    troubles: await troubles.of(uid, claimsMade(restore, claims)),
  };
}

/** The VolumeGroup that the restore makes, where it makes one. */
async function targetOf(
  { cluster, driver, hasVolumeGroupKinds: isServed }: SidecarContext,
  { metadata, spec }: VolumeGroupRestore,
  fresh: boolean,
): Promise<GroupTarget | undefined> {
  const wish = spec.volumeGroup;
  if (wish === undefined) return undefined;
  const can = driver.info.volumeGroups;
  const canGroup = can.has("VOLUME_GROUP") && can.has("MODIFY_VOLUME_GROUP");
  if (!isServed) return { isServed, canGroup, group: undefined, groupClass: undefined };
  const { volumeGroupClasses, volumeGroups } = cluster;
  const key = keyOf({ metadata: { ...metadata, name: wish.name } });
  const group = fresh ? await volumeGroups.refresh(key) : volumeGroups.get(key);
  const name = wish.volumeGroupClassName ?? "";
  const groupClass =
    fresh && name !== "" ? await volumeGroupClasses.refresh(name) : volumeGroupClasses.get(name);
  return { isServed, canGroup, group, groupClass };
}

async function contentOf(
  { cluster: { groupContents } }: SidecarContext,
  groupSnapshot: VolumeGroupSnapshot | undefined,
  fresh: boolean,
) {
  const name = groupSnapshot?.status?.boundVolumeGroupSnapshotContentName;
  if (name === undefined) return undefined;
  return fresh ? groupContents.refresh(name) : groupContents.get(name);
}

async function refreshSnapshots(
  { cluster, store }: SidecarContext,
  { metadata: { namespace = "" } }: VolumeGroupRestore,
): Promise<void> {
  const { items } = await listAll(store, VolumeSnapshots, { namespace });
  for (const snapshot of items) cluster.snapshots.wrote(snapshot);
  for (const { status } of items) {
    const content = status?.boundVolumeSnapshotContentName;
    if (content !== undefined && cluster.contents.get(content) === undefined)
      await cluster.contents.refresh(content);
  }
}

/** The members of the group snapshot as it is, and those that the plan was made of. */
function membersOf(
  { cluster: { contents, snapshots } }: SidecarContext,
  restore: VolumeGroupRestore,
  group: string,
): MemberView[] {
  const planned = (restore.status?.members ?? []).flatMap(({ snapshotUID }) =>
    snapshots.byIndex("uid", snapshotUID),
  );
  const all = new Map<string, VolumeSnapshot>();
  for (const snapshot of [...snapshots.byIndex("memberOf", group), ...planned])
    all.set(keyOf(snapshot), snapshot);
  return [...all.values()].map((snapshot) => ({
    snapshot,
    content: contents.get(snapshot.status?.boundVolumeSnapshotContentName ?? ""),
  }));
}

/** Source claims and claims with the names of restored ones: what a plan is made from, and what has become of it. */
async function claimsOf(
  { cluster: { claims } }: SidecarContext,
  { members, restore }: { members: readonly MemberView[]; restore: VolumeGroupRestore },
  fresh: boolean,
): Promise<Map<string, PersistentVolumeClaim>> {
  const names = new Set(restore.status?.members?.map(({ claimName }) => claimName));
  if (restore.status?.members === undefined) {
    for (const { snapshot } of members) {
      const source = snapshot.spec.source.persistentVolumeClaimName ?? snapshot.metadata.name;
      const overrides = restore.spec.members?.find(({ claim }) => claim === source);
      names.add(source).add(claimNameFor(restore, source, overrides));
    }
  }
  const found = new Map<string, PersistentVolumeClaim>();
  for (const name of names) {
    const key = keyOf({ metadata: { ...restore.metadata, name } });
    const claim = fresh ? await claims.refresh(key) : claims.get(key);
    if (claim !== undefined) found.set(name, claim);
  }
  return found;
}
