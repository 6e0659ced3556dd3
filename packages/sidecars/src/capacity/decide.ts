import { createHash } from "node:crypto";
import type { CSINode, CSIStorageCapacity, Node, StorageClass } from "@mooring/store";
import { CAPACITY_DRIVER_LABEL, CAPACITY_MANAGER_LABEL } from "../common/names.ts";
import { segmentsOf, topologyKeys } from "../topology/requirement.ts";
import { canonicalTerms, type Segments, termKey } from "../topology/terms.ts";

/** One capacity to publish: how much a class can get in one place. */
export interface Slot {
  className: string;
  segments: Segments;
}

/** Every place where the driver runs. A driver without topology has one, which is everywhere. */
export function placesOf(
  driver: { name: string; topology: boolean },
  csiNodes: readonly CSINode[],
  nodes: readonly Node[],
): Segments[] {
  if (!driver.topology) return [{}];
  const byName = new Map(nodes.map((node) => [node.metadata.name, node]));
  const places: Segments[] = [];
  for (const csiNode of csiNodes) {
    const keys = topologyKeys(csiNode, driver.name);
    const node = byName.get(csiNode.metadata.name);
    const place = node === undefined || keys.length === 0 ? undefined : segmentsOf(node, keys);
    if (place !== undefined) places.push(place);
  }
  return canonicalTerms(places);
}

/** Whether a class's capacity matters to the scheduler: it chooses nodes only for late binding. */
export function isPublished(storageClass: StorageClass, driver: string, immediate: boolean): boolean {
  if (storageClass.provisioner !== driver) return false;
  return immediate || storageClass.volumeBindingMode === "WaitForFirstConsumer";
}

/** The same slot has the same object, also after a restart: no duplicates to sort out. */
export function capacityName(driver: string, { className, segments }: Slot): string {
  const hash = createHash("sha256").update(JSON.stringify([driver, className, termKey(segments)]));
  return `csisc-${hash.digest("hex").slice(0, 20)}`;
}

export function slotOf(object: CSIStorageCapacity): Slot {
  return { className: object.storageClassName, segments: object.nodeTopology?.matchLabels ?? {} };
}

export function slotKey({ className, segments }: Slot): string {
  return JSON.stringify([className, termKey(segments)]);
}

export function parseSlotKey(key: string): Slot {
  const [className, term] = JSON.parse(key) as [string, string];
  return { className, segments: Object.fromEntries(JSON.parse(term) as [string, string][]) };
}

export interface Amount {
  /** Quantities. */
  capacity: string;
  maximumVolumeSize?: string;
}

export function capacityFor(
  driver: string,
  namespace: string,
  slot: Slot,
  amount: Amount,
): CSIStorageCapacity {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "CSIStorageCapacity",
    metadata: {
      name: capacityName(driver, slot),
      namespace,
      labels: { [CAPACITY_DRIVER_LABEL]: driver, [CAPACITY_MANAGER_LABEL]: "external-provisioner" },
    },
    storageClassName: slot.className,
    nodeTopology: { matchLabels: { ...slot.segments } },
    ...amount,
  };
}
