import { VolumeGroupSnapshots } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { CLONE_FINALIZER, type VolumeGroupClone } from "../kube/group-clone.ts";
import { VolumeGroupRestores } from "../kube/group-restore.ts";
import { deleteObject, patchMetadata, patchStatus } from "../kube/patch.ts";
import type { GroupCloneStep } from "./view.ts";

/** Makes one step; after a kill in between the next life decides anew from what is stored. */
export async function apply(
  { cluster, events, store }: SidecarContext,
  clone: VolumeGroupClone,
  step: GroupCloneStep,
): Promise<void> {
  switch (step.do) {
    case "add-finalizer":
      await patchMetadata(store, cluster.groupClones, clone, { addFinalizers: [CLONE_FINALIZER] });
      return;
    case "create-snapshot":
      cluster.groups.wrote(await store.create(VolumeGroupSnapshots, step.snapshot));
      return;
    case "create-restore":
      cluster.groupRestores.wrote(await store.create(VolumeGroupRestores, step.restore));
      return;
    case "write-status": {
      const { message, phase } = step.status;
      await patchStatus(store, cluster.groupClones, clone, step.status);
      if (step.isNews && phase !== "Waiting")
        events.event(clone, phase === "Failed" ? "Warning" : "Normal", `Clone${phase}`, message);
      return;
    }
    case "delete-restore":
      await deleteObject(store, cluster.groupRestores, step.restore);
      return;
    case "delete-snapshot":
      await deleteObject(store, cluster.groups, step.snapshot);
      return;
    case "release":
      await patchMetadata(store, cluster.groupClones, clone, { removeFinalizers: [CLONE_FINALIZER] });
      return;
  }
}
