import {
  DONE,
  hasFinalizer,
  isDeleting,
  type KubeObject,
  keyOf,
  type PersistentVolumeClaim,
  stepFailpoints,
  type VolumeSnapshot,
} from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import { intentsOf } from "../common/create-volume/record.ts";
import { ifHere, isElsewhere } from "../common/here.ts";
import { CLONE_SOURCE_FINALIZER, SNAPSHOT_SOURCE_FINALIZER } from "../common/names.ts";
import { source } from "../common/source.ts";
import type { ObjectCache } from "../kube/cache.ts";
import { patchMetadata } from "../kube/patch.ts";
import { provisionerOf } from "../provision/claim.ts";
import { maySourceGo } from "./decide.ts";

const failpoints = stepFailpoints<{ do: "release" }>("sidecars/source-protection", { release: true });

type Kind = "PersistentVolumeClaim" | "VolumeSnapshot";

/** Releases sources of clones and restores as soon as no copy of them is under way. */
export async function runSourceProtection(context: SidecarContext, signal: AbortSignal): Promise<void> {
  const claims = watchSources(
    context,
    {
      kind: "PersistentVolumeClaim",
      cacheIn: ({ cluster }) => cluster.claims,
      finalizer: CLONE_SOURCE_FINALIZER,
      isOurs: isClaimOurs,
    },
    signal,
  );
  const snapshots = context.hasSnapshotKinds
    ? watchSources(
        context,
        {
          kind: "VolumeSnapshot",
          cacheIn: ({ cluster }) => cluster.snapshots,
          finalizer: SNAPSHOT_SOURCE_FINALIZER,
          isOurs: isSnapshotOurs,
        },
        signal,
      )
    : Promise.resolve();
  await Promise.all([claims, snapshots]);
}

interface Sources<T extends KubeObject> {
  kind: Kind;
  cacheIn(context: SidecarContext): ObjectCache<T>;
  finalizer: string;
  isOurs(context: SidecarContext, object: T): boolean;
}

function watchSources<T extends KubeObject>(
  context: SidecarContext,
  { kind, cacheIn, finalizer, isOurs }: Sources<T>,
  signal: AbortSignal,
): Promise<void> {
  const cache = cacheIn(context);
  const { cluster, store } = context;
  return sidecarController<SourceView<T>, { do: "release" }>(context, {
    name: `source-protection/${kind}`,
    failpoints,
    concurrency: 4,
    sources: [source(cache, (object) => [keyOf(object)])],
    watched: [
      ...(kind === "VolumeSnapshot" ? [cluster.contents] : []),
      ...[cluster.claims, cluster.records, cluster.volumes],
    ],
    read(key, from) {
      const object = cacheIn(from).get(key);
      if (object === undefined || !hasFinalizer(object, finalizer)) return { object, free: false };
      const running = from.cluster.records.byIndex("source", `${kind}:${key}`);
      const free = maySourceGo({
        isProtected: true,
        ours: isOurs(from, object),
        deleting: isDeleting(object),
        running: running
          .flatMap((record) => [...intentsOf(record).values()])
          .filter((intent) => intent.source?.uid === object.metadata.uid).length,
        waiting: from.cluster.claims.byIndex("pendingSource", `${kind}:${key}`).length,
      });
      return { object, free };
    },
    isGone: ({ object }) => object === undefined,
    decide: ({ free }) => (free ? { do: "release" } : DONE),
    async apply(_, { object }) {
      if (object === undefined) return;
      await patchMetadata(store, cache, object, { removeFinalizers: [finalizer] });
    },
  }).run(signal);
}

interface SourceView<T> {
  object: T | undefined;
  /** Nothing is being made from it any more. */
  free: boolean;
}

function isClaimOurs({ cluster, driver, here }: SidecarContext, claim: PersistentVolumeClaim): boolean {
  const volume = cluster.volumes.get(claim.spec?.volumeName ?? "");
  // Another node's process knows what is being made there from it.
  if (volume !== undefined && ifHere(here, volume) === undefined) return false;
  return (volume?.spec?.csi?.driver ?? provisionerOf(claim)) === driver.info.name;
}

/** A snapshot whose content is gone belongs to no driver: any process that finds it may take the finalizer off. */
function isSnapshotOurs({ cluster, driver, here }: SidecarContext, snapshot: VolumeSnapshot): boolean {
  const content = cluster.contents.get(snapshot.status?.boundVolumeSnapshotContentName ?? "");
  if (content !== undefined && isElsewhere(here, content)) return false;
  return content === undefined || content.spec.driver === driver.info.name;
}
