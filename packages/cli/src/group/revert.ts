import { MOORING_API_VERSION, type VolumeGroupRevert, VolumeGroupReverts } from "@mooring/engine";
import type { ObjectStore } from "@mooring/store";
import { untilPhase, type Waiting } from "./wait.ts";

/** Creates the VolumeGroupRevert that a command asks for; resolves with it as the server left it. */
export function createGroupRevert(
  store: ObjectStore,
  { namespace, name, from }: { namespace: string; name: string; from: string },
): Promise<VolumeGroupRevert> {
  return store.create(VolumeGroupReverts, {
    apiVersion: MOORING_API_VERSION,
    kind: "VolumeGroupRevert",
    metadata: { name, namespace },
    spec: { source: { volumeGroupSnapshotName: from } },
  });
}

/** Until all members are back; a failure, with which nothing has changed, ends it at once. */
export function untilReverted(store: ObjectStore, waiting: Waiting) {
  return untilPhase(store, VolumeGroupReverts, waiting, {
    phase: "Complete",
    untaken: "is Mooring's engine running?",
  });
}
