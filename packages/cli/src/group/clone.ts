import { type VolumeGroupClone, VolumeGroupClones } from "@mooring/sidecars";
import { defined, type ObjectStore } from "@mooring/store";
import { table } from "../output/table.ts";
import { phaseLine, untilPhase, type Waiting } from "./wait.ts";

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
export function untilCloned(store: ObjectStore, waiting: Waiting) {
  return untilPhase(store, VolumeGroupClones, waiting, {
    phase: "Ready",
    untaken: "are the controllers running?",
  });
}

/** What `group clone` prints. */
export function renderClone(clone: VolumeGroupClone): string {
  const head = phaseLine(clone);
  const members = clone.status?.members ?? [];
  if (members.length === 0) return head;
  return `${head}\n${table(
    ["FROM", "CLAIM"],
    members.map(({ claimName, sourceClaim }) => [sourceClaim, claimName]),
  )}`;
}
