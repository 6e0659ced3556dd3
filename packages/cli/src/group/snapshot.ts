import { SNAPSHOT_OF_GROUP } from "@mooring/sidecars";
import {
  defined,
  type LabelRequirement,
  type LabelSelector,
  type ObjectStore,
  parseLabelSelector,
  type VolumeGroupSnapshot,
  VolumeGroupSnapshots,
} from "@mooring/store";
import { CommandError } from "../output/command-error.ts";
import { type Waiting, waitForObject } from "./wait.ts";

interface SnapshotWish {
  namespace: string;
  name: string;
  /** Which claims, or the name of the VolumeGroup that has them. */
  of: { selector: LabelSelector } | { group: string };
  className?: string;
}

/** `app=db,tier in (a,b)` as objects carry it. Throws for a selector that selects everything: it is a slip. */
export function selectorOf(text: string): LabelSelector {
  const requirements = parsed(text);
  if (requirements.length === 0)
    throw new CommandError("an empty selector would take every claim of the namespace", {
      next: "name labels, such as --selector app=db",
    });
  return {
    matchExpressions: requirements.map(({ key, operator, values }) => ({
      key,
      operator,
      ...(values.length === 0 ? {} : { values }),
    })),
  };
}

function parsed(text: string): LabelRequirement[] {
  try {
    return parseLabelSelector(text);
  } catch (error) {
    throw new CommandError(error instanceof Error ? error.message : String(error), {
      next: "write it as kubectl does, such as --selector 'app=db,tier in (a,b)'",
    });
  }
}

/** Creates the VolumeGroupSnapshot that a command asks for; resolves with it as the server left it. */
export function createGroupSnapshot(store: ObjectStore, wish: SnapshotWish): Promise<VolumeGroupSnapshot> {
  const { className, name, namespace, of } = wish;
  const isOfGroup = "group" in of;
  return store.create(VolumeGroupSnapshots, {
    apiVersion: "groupsnapshot.storage.k8s.io/v1",
    kind: "VolumeGroupSnapshot",
    metadata: { name, namespace, ...(isOfGroup ? { annotations: { [SNAPSHOT_OF_GROUP]: of.group } } : {}) },
    spec: {
      source: { selector: isOfGroup ? {} : of.selector },
      ...defined({ volumeGroupSnapshotClassName: className }),
    },
  });
}

/** Until all members can be restored. An error on the object may go away: it ends nothing before the time is over. */
export function untilReady(store: ObjectStore, waiting: Waiting) {
  return waitForObject(store, VolumeGroupSnapshots, waiting, {
    done: (group) => (group === undefined ? "it was deleted" : group.status?.readyToUse === true),
    last: (group) => group?.status?.error?.message ?? "it is not ready yet",
    progress: (group) => group?.status?.error?.message,
  });
}

/** Until the object and, with it, its members are gone. */
export function untilGone(store: ObjectStore, waiting: Waiting) {
  return waitForObject(store, VolumeGroupSnapshots, waiting, {
    done: (group) => group === undefined,
    last: (group) =>
      group?.status?.error?.message ?? `it is held by ${group?.metadata.finalizers?.join(", ")}`,
    progress: (group) => group?.status?.error?.message,
  });
}
