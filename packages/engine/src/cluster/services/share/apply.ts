import { apiVersionOf, isAlreadyExists, isNotFound } from "@mooring/store";
import { type ShareManager, ShareManagers } from "../../../api/share-manager.ts";
import type { Volume } from "../../../api/volume.ts";
import type { ServicesContext } from "../context.ts";
import type { ShareStep } from "./decide.ts";
import type { PlannedShare } from "./read.ts";

/** Makes the ShareManager as the plan has it, or removes that of a volume that is gone. */
export async function applyShareStep(
  { store, signal }: ServicesContext,
  step: ShareStep,
  { key, manager, share, volume }: PlannedShare,
): Promise<void> {
  if (step.do === "remove-share") {
    await store.delete(ShareManagers, { name: key }, { signal }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    return;
  }
  if (volume === undefined || share === undefined) return;
  const { nodeID, users } = share;
  if (manager !== undefined) {
    await store.update(ShareManagers, { ...manager, spec: { nodeID, users } }, { signal });
  } else {
    await store
      .create(ShareManagers, managerOf(volume, nodeID, users), { signal })
      .catch((cause: unknown) => {
        if (!isAlreadyExists(cause)) throw cause;
      });
  }
}

function managerOf({ apiVersion, kind, metadata }: Volume, nodeID: string, users: string[]): ShareManager {
  const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? "" };
  return {
    apiVersion: apiVersionOf(ShareManagers),
    kind: ShareManagers.kind,
    metadata: { name: metadata.name, ownerReferences: [owner] },
    spec: { nodeID, users },
  };
}
