import {
  type ControllerSource,
  failpoint,
  hasFinalizer,
  isDeleting,
  keyOf,
  type PersistentVolumeClaim,
  runController,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
} from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { isGroupMember } from "../common/group-member.ts";
import { BEING_CREATED, CLAIM_SOURCE_FINALIZER, GROUP_BEING_CREATED } from "../common/names.ts";
import { source } from "../common/source.ts";
import { groupContentNameOf } from "../group-snapshot/names.ts";
import { selects } from "../group-snapshot/sources.ts";
import { patchMetadata } from "../kube/patch.ts";
import { contentNameOf } from "./decide.ts";

const released = failpoint("sidecars/snapshot/claim-released");

/**
 * Whether a snapshot still needs its source claim. A claim under deletion waits only for snapshots that the driver may
 * be cutting right now: one that cannot be cut must not keep it for ever.
 */
export function needsClaim(
  snapshot: VolumeSnapshot,
  content: VolumeSnapshotContent | undefined,
  claimDeleting: boolean,
): boolean {
  if (snapshot.status?.readyToUse === true) return false;
  const beingCut =
    content !== undefined &&
    content.status?.readyToUse !== true &&
    (content.metadata.annotations?.[BEING_CREATED] !== undefined ||
      content.status?.snapshotHandle !== undefined);
  return beingCut || (!claimDeleting && !isDeleting(snapshot));
}

/** Lets source claims go when no unfinished snapshot needs them, seen anew after every change. */
export function runClaimProtection(context: SidecarContext, signal: AbortSignal): Promise<void> {
  const { cluster } = context;
  const claimOf = (snapshot: VolumeSnapshot | undefined): string[] => {
    const name = snapshot?.spec.source.persistentVolumeClaimName;
    return name === undefined ? [] : [keyOf({ metadata: { ...snapshot?.metadata, name } })];
  };
  return runController(
    {
      name: "snapshot/claims",
      logger: context.logger,
      sources: [
        source(cluster.claims, (claim) => [keyOf(claim)]),
        source(cluster.snapshots, claimOf),
        source(cluster.contents, ({ spec }) =>
          claimOf(cluster.snapshots.get(keyOf({ metadata: spec.volumeSnapshotRef }))),
        ),
        // Where groups may need a claim, nothing is let go before they are known.
        ...(context.hasGroupKinds ? groupSources(context) : []),
      ],
      reconcile: (key) => releaseClaim(context, key),
    },
    signal,
  );
}

/** The same after every change of a group snapshot. */
export function runGroupClaimProtection(context: SidecarContext, signal: AbortSignal): Promise<void> {
  return runController(
    {
      name: "group-snapshot/claims",
      logger: context.logger,
      sources: [source(context.cluster.claims, (claim) => [keyOf(claim)]), ...groupSources(context)],
      reconcile: (key) => releaseClaim(context, key),
    },
    signal,
  );
}

function groupSources({ cluster, driver }: SidecarContext): ControllerSource[] {
  const claimsIn = (namespace = "") => cluster.claims.byIndex("namespace", namespace).map(keyOf);
  return [
    source(cluster.groups, ({ metadata }) => claimsIn(metadata.namespace)),
    source(cluster.groupContents, ({ spec }) =>
      spec.driver === driver.info.name ? claimsIn(spec.volumeGroupSnapshotRef.namespace) : [],
    ),
  ];
}

async function releaseClaim(context: SidecarContext, key: string): Promise<void> {
  const { cluster, driver, store } = context;
  const claim = cluster.claims.get(key);
  if (claim === undefined || !hasFinalizer(claim, CLAIM_SOURCE_FINALIZER)) return;
  const volume = cluster.volumes.get(claim.spec?.volumeName ?? "")?.spec?.csi;
  if (volume !== undefined && volume.driver !== driver.info.name) return;
  const needed = cluster.snapshots
    .byIndex("claim", key)
    .some(
      (snapshot) =>
        !isGroupMember(snapshot) &&
        needsClaim(snapshot, cluster.contents.get(contentNameOf(snapshot)), isDeleting(claim)),
    );
  if (needed) return;
  if (context.hasGroupKinds && groupNeedsClaim(cluster, claim, volume)) return;
  await onceAtATime(context, key, async () => {
    await patchMetadata(store, cluster.claims, claim, { removeFinalizers: [CLAIM_SOURCE_FINALIZER] });
    released();
  });
}

const underWay = new WeakMap<SidecarContext, Set<string>>();

/** Both controllers look at a claim at the same moment; what one of them is doing, the other need not ask for again. */
async function onceAtATime(context: SidecarContext, key: string, work: () => Promise<void>): Promise<void> {
  const keys = underWay.get(context) ?? new Set();
  underWay.set(context, keys);
  if (keys.has(key)) return;
  keys.add(key);
  try {
    await work();
  } finally {
    keys.delete(key);
  }
}

/** A group snapshot needs its claims from before its content is made until the driver has cut it. */
function groupNeedsClaim(
  { groupContents, groups }: SidecarContext["cluster"],
  claim: PersistentVolumeClaim,
  volume: { driver: string; volumeHandle: string } | undefined,
): boolean {
  const contents =
    volume === undefined ? [] : groupContents.byIndex("source", `${volume.driver}:${volume.volumeHandle}`);
  const unfinished = contents.filter(({ status }) => status?.readyToUse !== true);
  const beingCut = ({ metadata, status }: VolumeGroupSnapshotContent) =>
    metadata.annotations?.[GROUP_BEING_CREATED] !== undefined ||
    (status?.volumeGroupSnapshotHandle !== undefined && metadata.deletionTimestamp === undefined);
  if (unfinished.some(beingCut)) return true;
  if (isDeleting(claim)) return false;
  if (unfinished.some((content) => !isDeleting(content))) return true;
  return groups
    .byIndex("namespace", claim.metadata.namespace ?? "")
    .some(
      (group) =>
        !isDeleting(group) &&
        group.status?.readyToUse !== true &&
        groupContents.get(groupContentNameOf(group)) === undefined &&
        selects(group, claim),
    );
}
