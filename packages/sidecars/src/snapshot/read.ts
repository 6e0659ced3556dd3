import {
  isDeleting,
  keyOf,
  type PersistentVolume,
  selectsNode,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
} from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { intentOf } from "../common/object-backoff.ts";
import { patienceLeft } from "../common/patience.ts";
import { rfc3339 } from "../common/time.ts";
import { contentNameOf, type SnapshotView } from "./decide.ts";

/** Everything that the next step for a snapshot depends on. `fresh`: the server is asked for the objects themselves. */
export async function readSnapshot(key: string, from: SidecarContext, fresh: boolean): Promise<SnapshotView> {
  const { cluster, distributedSnapshots, driver, now, reclaims } = from;
  const snapshot = fresh ? await cluster.snapshots.refresh(key) : cluster.snapshots.get(key);
  const claimName = snapshot?.spec.source.persistentVolumeClaimName;
  const claimKey =
    claimName === undefined ? "" : keyOf({ metadata: { ...snapshot?.metadata, name: claimName } });
  const claim =
    fresh && claimKey !== "" ? await cluster.claims.refresh(claimKey) : cluster.claims.get(claimKey);
  const volume = cluster.volumes.get(claim?.spec?.volumeName ?? "");
  const content = snapshot === undefined ? undefined : await readContent(from, snapshot, fresh);
  return {
    driver: driver.info.name,
    reclaims,
    snapshot,
    content,
    patienceMs: content === undefined ? 0 : patienceLeft(now(), content, from.asked),
    snapshotClass: cluster.snapshotClasses.get(snapshot?.spec.volumeSnapshotClassName ?? ""),
    classes: cluster.snapshotClasses.list(),
    claim,
    volume,
    managedBy: distributedSnapshots ? managerOf(from, volume) : undefined,
    now: rfc3339(now()),
    backoffMs: 0,
  };
}

/** The first node that reaches the volume and has the driver; a volume that every node reaches is no single one's. */
function managerOf(
  { cluster, driver }: SidecarContext,
  volume: PersistentVolume | undefined,
): string | undefined {
  const affinity = volume?.spec?.nodeAffinity?.required;
  if (affinity === undefined) return undefined;
  const hasDriver = (name: string): boolean =>
    cluster.csiNodes.get(name)?.spec.drivers.some((each) => each.name === driver.info.name) === true;
  const names = cluster.nodes
    .list()
    .flatMap((node) => (selectsNode(affinity, node) ? [node.metadata.name] : []));
  return names.sort().find(hasDriver);
}

/** Before a snapshot goes without its content, the controller asks the server itself whether there is none. */
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
