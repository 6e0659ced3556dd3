import {
  type ConfigMap,
  failpoint,
  hasFinalizer,
  isDeleting,
  type KubeObject,
  keyOf,
  type PersistentVolumeClaim,
  runController,
  type VolumeSnapshot,
} from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { intentOf } from "../common/create-volume/record.ts";
import { dataSourceOf } from "../common/data-source.ts";
import { CLONE_SOURCE_FINALIZER, SNAPSHOT_SOURCE_FINALIZER } from "../common/names.ts";
import { source } from "../common/source.ts";
import type { ObjectCache } from "../kube/cache.ts";
import { patchMetadata } from "../kube/patch.ts";
import { provisionerOf } from "../provision/claim.ts";
import { maySourceGo } from "./decide.ts";

const released = failpoint("sidecars/source-protection/released");

type Kind = "PersistentVolumeClaim" | "VolumeSnapshot";

/** Releases sources of clones and restores as soon as no copy of them is under way. */
export async function runSourceProtection(context: SidecarContext, signal: AbortSignal): Promise<void> {
  const { cluster, hasSnapshotKinds } = context;
  const claims = watchSources(context, "PersistentVolumeClaim", cluster.claims, signal, {
    finalizer: CLONE_SOURCE_FINALIZER,
    isOurs: (claim) => isClaimOurs(context, claim),
  });
  const snapshots = hasSnapshotKinds
    ? watchSources(context, "VolumeSnapshot", cluster.snapshots, signal, {
        finalizer: SNAPSHOT_SOURCE_FINALIZER,
        isOurs: (snapshot) => isSnapshotOurs(context, snapshot),
      })
    : Promise.resolve();
  await Promise.all([claims, snapshots]);
}

function watchSources<T extends KubeObject>(
  context: SidecarContext,
  kind: Kind,
  cache: ObjectCache<T>,
  signal: AbortSignal,
  { finalizer, isOurs }: { finalizer: string; isOurs: (object: T) => boolean },
): Promise<void> {
  const { cluster, store } = context;
  const reconcile = async (key: string): Promise<void> => {
    const object = cache.get(key);
    if (object === undefined) return;
    const running = cluster.records.byIndex("source", `${kind}:${key}`);
    const free = maySourceGo({
      guarded: hasFinalizer(object, finalizer),
      ours: isOurs(object),
      deleting: isDeleting(object),
      running: running.filter((record) => intentOf(record)?.source?.uid === object.metadata.uid).length,
      waiting: cluster.claims.byIndex("pendingSource", `${kind}:${key}`).length,
    });
    if (!free) return;
    await patchMetadata(store, cache, object, { removeFinalizers: [finalizer] });
    released();
  };
  const sourceKeys = (claim: PersistentVolumeClaim) => {
    const of = dataSourceOf(claim);
    return of.kind === kind ? [keyOf({ metadata: of })] : [];
  };
  const recordKeys = (record: ConfigMap) => {
    const of = intentOf(record)?.source;
    return of?.kind === kind ? [keyOf({ metadata: of })] : [];
  };
  return runController(
    {
      name: `source-protection/${kind}`,
      logger: context.logger,
      sources: [
        source(cache, (object) => [keyOf(object)]),
        source(cluster.claims, sourceKeys),
        source(cluster.records, recordKeys),
      ],
      reconcile,
    },
    signal,
  );
}

function isClaimOurs({ cluster, driver }: SidecarContext, claim: PersistentVolumeClaim): boolean {
  const volume = cluster.volumes.get(claim.spec?.volumeName ?? "");
  return (volume?.spec?.csi?.driver ?? provisionerOf(claim)) === driver.info.name;
}

/** A snapshot whose content is gone belongs to nobody: whoever finds it may let it go. */
function isSnapshotOurs({ cluster, driver }: SidecarContext, snapshot: VolumeSnapshot): boolean {
  const content = cluster.contents.get(snapshot.status?.boundVolumeSnapshotContentName ?? "");
  return content === undefined || content.spec.driver === driver.info.name;
}
