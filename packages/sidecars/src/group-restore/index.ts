import { keyOf, stepFailpoints } from "@mooring/store";
import { Backoff } from "../common/backoff.ts";
import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import { Remembered } from "../common/remembered.ts";
import { source } from "../common/source.ts";
import { applyGroupRestore, Refusals } from "./apply.ts";
import { decideGroupRestore, type GroupRestoreStep } from "./decide.ts";
import { readGroupRestore } from "./read.ts";
import { Troubles } from "./troubles.ts";
import type { GroupRestoreView } from "./view.ts";

const failpoints = stepFailpoints<GroupRestoreStep>("sidecars/group-restore", {
  "write-status": true,
  "create-group": true,
  "create-claims": true,
});

/** Makes the claims of VolumeGroupRestores whose group snapshot is of the driver. */
export function runGroupRestore(context: SidecarContext, signal: AbortSignal): Promise<void> {
  const { cluster, hasVolumeGroupKinds } = context;
  const refusals = new Refusals(Backoff.of(context));
  const troubles = new Troubles(context.store, context.now);
  const remembered = new Remembered(
    (key) => cluster.groupRestores.get(key)?.metadata.uid,
    (uid) => {
      refusals.forget(uid);
      troubles.forget(uid);
    },
  );
  return sidecarController(context, {
    name: "group-restore",
    failpoints,
    sources: [source(cluster.groupRestores, (restore) => [keyOf(restore)])],
    watched: [
      ...[cluster.groups, cluster.groupContents, cluster.snapshots],
      ...[cluster.contents, cluster.claims, cluster.classes],
      ...(hasVolumeGroupKinds ? [cluster.volumeGroups, cluster.volumeGroupClasses] : []),
    ],
    // What is installed later is not watched, so it is not read either.
    read: (key, from, fresh) =>
      readGroupRestore({ ...from, hasVolumeGroupKinds }, { refusals, troubles }, key, fresh),
    isGone: ({ restore }: GroupRestoreView) => restore === undefined,
    decide: decideGroupRestore,
    async apply(step: GroupRestoreStep, { restore }, key) {
      if (restore === undefined) return;
      remembered.note(key, restore.metadata.uid ?? "");
      await applyGroupRestore(context, refusals, restore, step);
    },
    ended: (key) => remembered.ended(key),
  }).run(signal);
}
