import { createHash } from "node:crypto";
import {
  type CSINode,
  type CSIStorageCapacity,
  DONE,
  type Node,
  type Outcome,
  type OwnerReference,
  type StorageClass,
  wait,
} from "@mooring/store";
import { capacityManager, type Here } from "../common/here.ts";
import { CAPACITY_DRIVER_LABEL, CAPACITY_MANAGER_LABEL } from "../common/names.ts";
import type { Slot } from "../kube/capacity-slot.ts";
import { segmentsOf, topologyKeys } from "../topology/requirement.ts";
import { type Segments, termKey } from "../topology/terms.ts";

/** The place of each node where the driver runs. A driver without topology has one, which is everywhere. */
export function placesOf(
  driver: { name: string; topology: boolean },
  csiNodes: readonly CSINode[],
  nodes: readonly Node[],
): Segments[] {
  if (!driver.topology) return [{}];
  const byName = new Map(nodes.map((node) => [node.metadata.name, node]));
  return csiNodes.flatMap((csiNode) => {
    const keys = topologyKeys(csiNode, driver.name);
    const node = byName.get(csiNode.metadata.name);
    const place = node === undefined || keys.length === 0 ? undefined : segmentsOf(node, keys);
    return place === undefined ? [] : [place];
  });
}

/** Whether a class's capacity matters to the scheduler: it chooses nodes only for late binding. */
export function isPublished(storageClass: StorageClass, driver: string, immediate: boolean): boolean {
  if (storageClass.provisioner !== driver) return false;
  return immediate || storageClass.volumeBindingMode === "WaitForFirstConsumer";
}

/** What the driver last reported about a slot. */
export interface CapacityResult {
  /** Milliseconds since the epoch of the request. */
  at: number;
  /** Undefined: it has never reported anything. */
  amount: Amount | undefined;
  /** Volumes came or went since, or it was asked for other parameters. */
  stale: boolean;
}

/**
 * Everything that the next step for a slot depends on: the slot, the objects for it, the driver's last response.
 */
export interface CapacityView {
  slot: Slot;
  /** The class is ours and its capacity matters, and the driver runs in the place. */
  wanted: boolean;
  parameters: Record<string, string>;
  /** Our object of the slot. */
  published: CSIStorageCapacity | undefined;
  /** Objects of the slot under other names, left by another program: the scheduler would count them twice. */
  duplicates: readonly CSIStorageCapacity[];
  result: CapacityResult | undefined;
  pollMs: number;
  /** Milliseconds since the epoch. */
  now: number;
}

/** One visible change of the CSIStorageCapacities of a slot, or one GetCapacity. */
export type CapacityStep =
  | { do: "delete-duplicates"; objects: readonly CSIStorageCapacity[] }
  | { do: "delete-capacity"; object: CSIStorageCapacity }
  | { do: "ask-driver" }
  | { do: "publish"; amount: Amount };

/** Volumes come in bursts: a place is asked about at most this often, in milliseconds. */
const AT_MOST_EVERY_MS = 1_000;

/** What to do next about the capacity of one class in one place. */
export function decideCapacity(view: CapacityView): CapacityStep | Outcome {
  const { wanted, published, duplicates, result, pollMs, now } = view;
  if (duplicates.length > 0) return { do: "delete-duplicates", objects: duplicates };
  if (!wanted) return published === undefined ? DONE : { do: "delete-capacity", object: published };
  const every = result?.stale === false ? pollMs : Math.min(AT_MOST_EVERY_MS, pollMs);
  const dueInMs = result === undefined ? 0 : result.at + every - now;
  if (dueInMs <= 0) return { do: "ask-driver" };
  const amount = result?.amount;
  if (amount !== undefined && !isPublishedAs(published, amount)) return { do: "publish", amount };
  return wait(dueInMs);
}

function isPublishedAs(object: CSIStorageCapacity | undefined, amount: Amount): boolean {
  return object?.capacity === amount.capacity && object.maximumVolumeSize === amount.maximumVolumeSize;
}

/**
 * The same slot has the same object, also after a restart: no duplicates to sort out. `node`: the one that keeps it, where each
 * keeps its own.
 */
export function capacityName(driver: string, { className, segments }: Slot, node?: string): string {
  const of = [driver, className, termKey(segments), ...(node === undefined ? [] : [node])];
  const hash = createHash("sha256").update(JSON.stringify(of));
  return `csisc-${hash.digest("hex").slice(0, 20)}`;
}

/** What the driver reports of a slot. */
export interface Amount {
  /** Quantities. */
  capacity: string;
  maximumVolumeSize?: string;
}

/** Who keeps a CSIStorageCapacity. */
export interface CapacityKeeper {
  driver: string;
  namespace: string;
  here: Here | undefined;
  /** The node with which what it keeps is to go. */
  owner: OwnerReference | undefined;
}

/** The CSIStorageCapacity with `amount` for a slot; it is not created here. */
export function capacityFor(
  { driver, namespace, here, owner }: CapacityKeeper,
  slot: Slot,
  amount: Amount,
): CSIStorageCapacity {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "CSIStorageCapacity",
    metadata: {
      name: capacityName(driver, slot, here?.node),
      namespace,
      labels: { [CAPACITY_DRIVER_LABEL]: driver, [CAPACITY_MANAGER_LABEL]: capacityManager(here) },
      ...(owner === undefined ? {} : { ownerReferences: [owner] }),
    },
    storageClassName: slot.className,
    nodeTopology: { matchLabels: { ...slot.segments } },
    ...amount,
  };
}
