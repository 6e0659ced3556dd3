import {
  failpoint,
  hasFinalizer,
  isDeleting,
  keyOf,
  runController,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
} from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { BEING_CREATED, CLAIM_SOURCE_FINALIZER } from "../common/names.ts";
import { source } from "../common/source.ts";
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
  const { cluster, driver, store } = context;
  const claimOf = (snapshot: VolumeSnapshot | undefined): string[] => {
    const name = snapshot?.spec.source.persistentVolumeClaimName;
    return name === undefined ? [] : [keyOf({ metadata: { ...snapshot?.metadata, name } })];
  };
  const reconcile = async (key: string): Promise<void> => {
    const claim = cluster.claims.get(key);
    if (claim === undefined || !hasFinalizer(claim, CLAIM_SOURCE_FINALIZER)) return;
    const of = cluster.volumes.get(claim.spec?.volumeName ?? "")?.spec?.csi?.driver;
    if (of !== undefined && of !== driver.info.name) return;
    const needed = cluster.snapshots
      .byIndex("claim", key)
      .some((snapshot) =>
        needsClaim(snapshot, cluster.contents.get(contentNameOf(snapshot)), isDeleting(claim)),
      );
    if (needed) return;
    await patchMetadata(store, cluster.claims, claim, { removeFinalizers: [CLAIM_SOURCE_FINALIZER] });
    released();
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
      ],
      reconcile,
    },
    signal,
  );
}
