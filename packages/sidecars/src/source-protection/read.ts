import {
  hasFinalizer,
  isDeleting,
  type KubeObject,
  type PersistentVolumeClaim,
  type VolumeSnapshot,
} from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { intentsOf } from "../common/create-volume/record.ts";
import { ifHere, isElsewhere } from "../common/here.ts";
import type { ObjectCache } from "../kube/cache.ts";
import { provisionerOf } from "../provision/claim.ts";
import type { SourceView } from "./decide.ts";

/** One kind of objects that new volumes are made from. */
export interface Sources<T extends KubeObject> {
  kind: "PersistentVolumeClaim" | "VolumeSnapshot";
  cacheIn(context: SidecarContext): ObjectCache<T>;
  finalizer: string;
  isOurs(context: SidecarContext, object: T): boolean;
}

/** An object that is, or was, a source, and what is known about it. */
export interface ReadSource<T> extends SourceView {
  object: T | undefined;
}

const UNPROTECTED: SourceView = { isProtected: false, ours: false, deleting: false, running: 0, waiting: 0 };

/** Reads a source, the calls that copy it, and the claims that want to be made from it. */
export function readSource<T extends KubeObject>(
  { kind, cacheIn, finalizer, isOurs }: Sources<T>,
  from: SidecarContext,
  key: string,
): ReadSource<T> {
  const object = cacheIn(from).get(key);
  if (object === undefined || !hasFinalizer(object, finalizer)) return { ...UNPROTECTED, object };
  const { claims, records } = from.cluster;
  const running = records.byIndex("source", `${kind}:${key}`);
  return {
    object,
    isProtected: true,
    ours: isOurs(from, object),
    deleting: isDeleting(object),
    running: running
      .flatMap((record) => [...intentsOf(record).values()])
      .filter((intent) => intent.source?.uid === object.metadata.uid).length,
    waiting: claims.byIndex("pendingSource", `${kind}:${key}`).length,
  };
}

/** Whether the claim is of this driver, or is to be; on each node of its own drivers only that node knows. */
export function isClaimOurs(
  { cluster, driver, here }: SidecarContext,
  claim: PersistentVolumeClaim,
): boolean {
  const volume = cluster.volumes.get(claim.spec?.volumeName ?? "");
  // Another node's process knows what is being made there from it.
  if (volume !== undefined && ifHere(here, volume) === undefined) return false;
  return (volume?.spec?.csi?.driver ?? provisionerOf(claim)) === driver.info.name;
}

/** A snapshot whose content is gone belongs to no driver: any process that finds it may take the finalizer off. */
export function isSnapshotOurs({ cluster, driver, here }: SidecarContext, snapshot: VolumeSnapshot): boolean {
  const content = cluster.contents.get(snapshot.status?.boundVolumeSnapshotContentName ?? "");
  if (content !== undefined && isElsewhere(here, content)) return false;
  return content === undefined || content.spec.driver === driver.info.name;
}
