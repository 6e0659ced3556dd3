import {
  mutate,
  type ObjectStore,
  type PersistentVolume,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
} from "@mooring/store";

const RESIZE_CONDITIONS = new Set([
  "Resizing",
  "FileSystemResizePending",
  "NodeResizeError",
  "ControllerResizeError",
]);

/** Writes into the claim that its file system is now as large as its volume. */
export async function finishExpansion(
  store: ObjectStore,
  volume: PersistentVolume | undefined,
): Promise<void> {
  const reference = volume?.spec?.claimRef;
  const storage = volume?.spec?.capacity?.storage;
  if (reference?.name === undefined || storage === undefined) return;
  await mutate(
    store,
    PersistentVolumeClaims,
    { namespace: reference.namespace ?? "", name: reference.name },
    {
      change: (claim) => (claim.metadata.uid === reference.uid ? finished(claim, storage) : claim),
      subresource: "status",
    },
  );
}

function finished(claim: PersistentVolumeClaim, storage: string): PersistentVolumeClaim {
  const { allocatedResourceStatuses: statuses = {}, conditions = [], ...status } = claim.status ?? {};
  const { storage: _, ...otherStatuses } = statuses;
  const left = conditions.filter(({ type }) => !RESIZE_CONDITIONS.has(type));
  return {
    ...claim,
    status: {
      ...status,
      capacity: { ...status.capacity, storage },
      ...(left.length === 0 ? {} : { conditions: left }),
      ...(Object.keys(otherStatuses).length === 0 ? {} : { allocatedResourceStatuses: otherStatuses }),
    },
  };
}
