import { isDeleting, keyOf, type VolumeSnapshot, type VolumeSnapshotContent } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { intentOf } from "../common/object-backoff.ts";
import { rfc3339 } from "../common/time.ts";
import { contentNameOf, type SnapshotView } from "./decide.ts";

/** Everything that the next step for a snapshot depends on. `fresh`: the server is asked for the objects themselves. */
export async function readSnapshot(key: string, from: SidecarContext, fresh: boolean): Promise<SnapshotView> {
  const { cluster, driver, now, reclaims } = from;
  const snapshot = fresh ? await cluster.snapshots.refresh(key) : cluster.snapshots.get(key);
  const claimName = snapshot?.spec.source.persistentVolumeClaimName;
  const claimKey =
    claimName === undefined ? "" : keyOf({ metadata: { ...snapshot?.metadata, name: claimName } });
  const claim =
    fresh && claimKey !== "" ? await cluster.claims.refresh(claimKey) : cluster.claims.get(claimKey);
  return {
    driver: driver.info.name,
    reclaims,
    snapshot,
    content: snapshot === undefined ? undefined : await readContent(from, snapshot, fresh),
    snapshotClass: cluster.snapshotClasses.get(snapshot?.spec.volumeSnapshotClassName ?? ""),
    classes: cluster.snapshotClasses.list(),
    claim,
    volume: cluster.volumes.get(claim?.spec?.volumeName ?? ""),
    now: rfc3339(now()),
    backoffMs: 0,
  };
}

/** Before a snapshot goes without its content, the server itself has to say that there is none. */
async function readContent(
  { cluster: { contents } }: SidecarContext,
  snapshot: VolumeSnapshot,
  fresh: boolean,
): Promise<VolumeSnapshotContent | undefined> {
  const name = contentNameOf(snapshot);
  const known = contents.get(name);
  return fresh || (known === undefined && isDeleting(snapshot)) ? contents.refresh(name) : known;
}

/** What a report depends on: our own status and finalizers are no part of it. */
export function snapshotRequestKey({ claim, classes, content, snapshot, volume }: SnapshotView): string {
  return JSON.stringify([
    intentOf(snapshot),
    snapshot?.metadata.finalizers,
    intentOf(content),
    intentOf(claim),
    claim?.status?.phase,
    intentOf(volume),
    classes,
  ]);
}
