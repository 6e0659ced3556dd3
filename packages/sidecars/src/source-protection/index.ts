import { hasFinalizer, type KubeObject, keyOf, stepFailpoints } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import { CLONE_SOURCE_FINALIZER, SNAPSHOT_SOURCE_FINALIZER } from "../common/names.ts";
import { source } from "../common/source.ts";
import { releaseSource } from "./apply.ts";
import { decideSource, type SourceStep } from "./decide.ts";
import { isClaimOurs, isSnapshotOurs, type ReadSource, readSource, type Sources } from "./read.ts";

const failpoints = stepFailpoints<SourceStep>("sidecars/source-protection", { release: true });

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

function watchSources<T extends KubeObject>(
  context: SidecarContext,
  sources: Sources<T>,
  signal: AbortSignal,
): Promise<void> {
  const { kind, finalizer } = sources;
  const isProtected = (object: T) => hasFinalizer(object, finalizer);
  const { cluster } = context;
  return sidecarController<ReadSource<T>, SourceStep>(context, {
    name: `source-protection/${kind}`,
    failpoints,
    concurrency: 4,
    sources: [source(sources.cacheIn(context), (object) => [keyOf(object)], isProtected)],
    watched: [
      ...(kind === "VolumeSnapshot" ? [cluster.contents] : []),
      ...[cluster.claims, cluster.records, cluster.volumes],
    ],
    read: (key, from) => readSource(sources, from, key),
    isGone: ({ object }) => object === undefined || !isProtected(object),
    decide: decideSource,
    apply: (_, { object }) => releaseSource(context, sources, object),
  }).run(signal);
}
