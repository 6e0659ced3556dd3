import {
  failpoint,
  hasFinalizer,
  isDeleting,
  keyOf,
  type PersistentVolumeClaim,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
} from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { DONE, sidecarController } from "../common/controller.ts";
import { isGroupMember } from "../common/group-member.ts";
import { groupContentNameOf } from "../common/group-snapshot-names.ts";
import { BEING_CREATED, CLAIM_SOURCE_FINALIZER, GROUP_BEING_CREATED } from "../common/names.ts";
import { source } from "../common/source.ts";
import { selects } from "../group-snapshot/sources.ts";
import { patchMetadata } from "../kube/patch.ts";
import { groupOfSnapshot } from "../volume-group/freeze.ts";
import { lockOf } from "../volume-group/lock.ts";
import { contentNameOf } from "./decide.ts";

const released = failpoint("sidecars/snapshot/claim-released");

/**
 * Whether a snapshot still needs its source claim. A claim under deletion waits only for snapshots that the driver may
 * be copying right now: a snapshot that cannot be made must not keep it for ever.
 */
function needsClaim(
  snapshot: VolumeSnapshot,
  content: VolumeSnapshotContent | undefined,
  claimDeleting: boolean,
): boolean {
  if (snapshot.status?.readyToUse === true) return false;
  const inProgress =
    content !== undefined &&
    content.status?.readyToUse !== true &&
    (content.metadata.annotations?.[BEING_CREATED] !== undefined ||
      content.status?.snapshotHandle !== undefined);
  return inProgress || (!claimDeleting && !isDeleting(snapshot));
}

/** Lets source claims go when no unfinished snapshot needs them, seen anew after every change. */
export function runClaimProtection(context: SidecarContext, signal: AbortSignal): Promise<void> {
  return claimReleaser(context, "snapshot/claims", context.hasGroupKinds).run(signal);
}

/** The same where groups are served. */
export function runGroupClaimProtection(context: SidecarContext, signal: AbortSignal): Promise<void> {
  return claimReleaser(context, "group-snapshot/claims", true).run(signal);
}

/** Where groups may need a claim, nothing is let go before they are known. */
function claimReleaser(context: SidecarContext, name: string, withGroups: boolean) {
  const { claims, contents, groupContents, groups, snapshots, volumes } = context.cluster;
  return sidecarController<ClaimView, { do: "release" }>(context, {
    name,
    concurrency: 4,
    sources: [source(claims, (claim) => [keyOf(claim)])],
    watched: [contents, snapshots, volumes, ...(withGroups ? [groups, groupContents] : [])],
    read: (key, from) => readClaim({ ...from, hasGroupKinds: withGroups }, key),
    isGone: ({ claim }) => claim === undefined,
    decide: ({ claim, free }) => (claim !== undefined && free ? { do: "release" } : DONE),
    apply: (_, { claim }, key) => release(context, key, claim),
  });
}

interface ClaimView {
  claim: PersistentVolumeClaim | undefined;
  /** It is ours to let go, and nothing needs it any more. */
  free: boolean;
}

function readClaim({ cluster, driver, hasGroupKinds }: SidecarContext, key: string): ClaimView {
  const claim = cluster.claims.get(key);
  if (claim === undefined || !hasFinalizer(claim, CLAIM_SOURCE_FINALIZER)) return { claim, free: false };
  const volume = cluster.volumes.get(claim.spec?.volumeName ?? "")?.spec?.csi;
  if (volume !== undefined && volume.driver !== driver.info.name) return { claim, free: false };
  const needed = cluster.snapshots
    .byIndex("claim", key)
    .some(
      (snapshot) =>
        !isGroupMember(snapshot) &&
        needsClaim(snapshot, cluster.contents.get(contentNameOf(snapshot)), isDeleting(claim)),
    );
  return { claim, free: !needed && !(hasGroupKinds && groupNeedsClaim(cluster, claim, volume)) };
}

async function release(
  context: SidecarContext,
  key: string,
  claim: PersistentVolumeClaim | undefined,
): Promise<void> {
  const { cluster, store } = context;
  if (claim === undefined) return;
  await onceAtATime(context, key, async () => {
    await patchMetadata(store, cluster.claims, claim, { removeFinalizers: [CLAIM_SOURCE_FINALIZER] });
    released();
  });
}

const underWay = new WeakMap<SidecarContext, Map<string, Promise<void>>>();

/** Both controllers read a claim at the same moment; what one of them is doing, the other need not ask for again. */
function onceAtATime(context: SidecarContext, key: string, work: () => Promise<void>): Promise<void> {
  const keys = underWay.get(context) ?? new Map<string, Promise<void>>();
  underWay.set(context, keys);
  const running = keys.get(key);
  if (running !== undefined) return running;
  const begun = work().finally(() => keys.delete(key));
  keys.set(key, begun);
  return begun;
}

/** A group snapshot needs its claims from before its content is made until the driver has made it. */
function groupNeedsClaim(
  { groupContents, groups }: SidecarContext["cluster"],
  claim: PersistentVolumeClaim,
  volume: { driver: string; volumeHandle: string } | undefined,
): boolean {
  const contents =
    volume === undefined ? [] : groupContents.byIndex("source", `${volume.driver}:${volume.volumeHandle}`);
  const unfinished = contents.filter(({ status }) => status?.readyToUse !== true);
  const inProgress = ({ metadata, status }: VolumeGroupSnapshotContent) =>
    metadata.annotations?.[GROUP_BEING_CREATED] !== undefined ||
    (status?.volumeGroupSnapshotHandle !== undefined && metadata.deletionTimestamp === undefined);
  if (unfinished.some(inProgress)) return true;
  if (isDeleting(claim)) return false;
  if (unfinished.some((content) => !isDeleting(content))) return true;
  return groups
    .byIndex("namespace", claim.metadata.namespace ?? "")
    .some(
      (group) =>
        !isDeleting(group) &&
        group.status?.readyToUse !== true &&
        groupContents.get(groupContentNameOf(group)) === undefined &&
        isOf(group, claim),
    );
}

/** Whether a group snapshot is of a claim: as a member of the VolumeGroup that it names, else by its selector. */
function isOf(snapshot: VolumeGroupSnapshot, claim: PersistentVolumeClaim): boolean {
  const named = groupOfSnapshot(snapshot);
  return named === undefined ? selects(snapshot, claim) : lockOf(claim)?.name === named;
}
