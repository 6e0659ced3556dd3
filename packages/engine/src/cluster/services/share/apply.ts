import { apiVersionOf, failpoint, isAlreadyExists, isNotFound, mutate } from "@mooring/store";
import { type ShareManager, ShareManagers } from "../../../api/share-manager.ts";
import type { Volume } from "../../../api/volume.ts";
import type { ServicesContext } from "../context.ts";
import type { SharePlan } from "./decide.ts";

const recorded = failpoint("engine/services/share/manager-recorded");

/** Makes the ShareManager say what the plan says. It goes with its volume. */
export async function recordShare(
  { store, signal }: ServicesContext,
  volume: Volume,
  { nodeID, users }: NonNullable<SharePlan["share"]>,
): Promise<void> {
  const { name } = volume.metadata;
  const put = (share: ShareManager): ShareManager => ({ ...share, spec: { nodeID, users } });
  try {
    await mutate(store, ShareManagers, { name }, put, { signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    // Nobody has used it yet: there is nothing to tell.
    if (users.length === 0) return;
    await store
      .create(ShareManagers, managerOf(volume, nodeID, users), { signal })
      .catch((cause: unknown) => {
        if (!isAlreadyExists(cause)) throw cause;
      });
  }
  recorded();
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

/** Removes the ShareManager of a volume that is gone. */
export async function removeShare({ store, signal }: ServicesContext, name: string): Promise<void> {
  await store.delete(ShareManagers, { name }, { signal }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}
