import { type PersistentVolume, stepFailpoints } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import { source } from "../common/source.ts";
import { ReclaimEffects } from "./apply.ts";
import { decideReclaim, mayNeedReclaim, type ReclaimStep, type ReclaimView } from "./decide.ts";
import { readVolume } from "./read.ts";

const failpoints = stepFailpoints<ReclaimStep>("sidecars/reclaim", {
  "add-finalizer": true,
  "drop-finalizer": true,
  "delete-data": true,
  "delete-object": true,
  "report-attached": true,
});

/** Deletes released volumes with policy Delete, data first; keeps the finalizer in step with the policy. */
export function runReclaim(context: SidecarContext, signal: AbortSignal): Promise<void> {
  const effects = new ReclaimEffects(context, signal);
  // What is installed later is not watched, so it is not read either.
  const { cluster, driver, hasGroupKinds, hasSnapshotKinds } = context;
  const matters = (volume: PersistentVolume) => mayNeedReclaim(volume, driver.info.name);
  return sidecarController(context, {
    name: "reclaim",
    failpoints,
    sources: [source(cluster.volumes, ({ metadata }) => [metadata.name], matters)],
    watched: [
      ...[cluster.attachments, cluster.records, cluster.classes],
      ...(hasSnapshotKinds ? [cluster.contents] : []),
      ...(hasGroupKinds ? [cluster.groupContents] : []),
    ],
    read: (name, from, fresh) =>
      readVolume({ ...from, hasGroupKinds, hasSnapshotKinds }, effects, name, fresh),
    isGone: ({ volume }: ReclaimView) => volume === undefined || !matters(volume),
    decide: decideReclaim,
    async apply(step: ReclaimStep, { volume }) {
      if (volume !== undefined) await effects.apply(step, volume);
    },
  }).run(signal);
}
