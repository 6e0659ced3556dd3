import { MOORING_API_VERSION, type VolumeGroupRevert, VolumeGroupReverts } from "@mooring/engine";
import type { ObjectStore } from "@mooring/store";
import { waitForObject } from "./wait.ts";

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
export function untilReverted(store: ObjectStore, namespace: string, name: string, seconds: number) {
  return waitForObject(
    store,
    VolumeGroupReverts,
    { namespace, name },
    {
      seconds,
      done: (revert) => {
        if (revert === undefined) return "it was deleted";
        if (revert.status?.phase === "Failed") return revert.status.message;
        return revert.status?.phase === "Complete";
      },
      last: (revert) => revert?.status?.message ?? "nothing has taken it up: is Mooring's engine running?",
      progress: (revert) => revert?.status?.message,
      next: `mooring why volumegrouprevert/${name} -n ${namespace}`,
    },
  );
}

/** A revert as the command prints it: phase, then a line per member. */
export function renderRevert({ metadata, status }: VolumeGroupRevert): string {
  return `${metadata.namespace}/${metadata.name}: ${status?.phase ?? "Waiting"}: ${status?.message ?? ""}\n`;
}
