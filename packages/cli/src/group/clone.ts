import { type VolumeGroupClone, VolumeGroupClones } from "@mooring/sidecars";
import { defined, type ObjectStore } from "@mooring/store";
import { table } from "../output/table.ts";
import { waitForObject } from "./wait.ts";

interface CloneWish {
  namespace: string;
  /** Of the clone and of the new group. */
  name: string;
  from: string;
  template?: string;
}

/** Asks for a new group with copies of all members of another one. */
export function createGroupClone(
  store: ObjectStore,
  { from, name, namespace, template }: CloneWish,
): Promise<VolumeGroupClone> {
  return store.create(VolumeGroupClones, {
    apiVersion: "storage.mooring.dev/v1alpha1",
    kind: "VolumeGroupClone",
    metadata: { name, namespace },
    spec: { source: { volumeGroupName: from }, ...defined({ claimNameTemplate: template }) },
  });
}

/** Until the new group is there and the internal snapshot is gone; a failure ends it at once. */
export function untilCloned(store: ObjectStore, namespace: string, name: string, seconds: number) {
  return waitForObject(
    store,
    VolumeGroupClones,
    { namespace, name },
    {
      seconds,
      done: (clone) => {
        if (clone === undefined) return "it was deleted";
        if (clone.status?.phase === "Failed") return clone.status.message;
        return clone.status?.phase === "Ready";
      },
      last: (clone) => clone?.status?.message ?? "nothing has taken it up: are the controllers running?",
      progress: (clone) => clone?.status?.message,
      next: `mooring why volumegroupclone/${name} -n ${namespace}`,
    },
  );
}

/** What `group clone` prints. */
export function renderClone({ metadata, status }: VolumeGroupClone): string {
  const head = `${metadata.namespace}/${metadata.name}: ${status?.phase ?? "Waiting"}: ${status?.message ?? ""}\n`;
  const members = status?.members ?? [];
  if (members.length === 0) return head;
  return `${head}\n${table(
    ["FROM", "CLAIM"],
    members.map(({ claimName, sourceClaim }) => [sourceClaim, claimName]),
  )}`;
}
