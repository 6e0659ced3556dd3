import type { CSIStorageCapacity } from "@mooring/store";
import { type Segments, termKey } from "../topology/terms.ts";

/** One capacity to publish: how much a class can get in one place. */
export interface Slot {
  className: string;
  segments: Segments;
}

/** The slot that an existing CSIStorageCapacity is about. */
export function slotOf(object: CSIStorageCapacity): Slot {
  return { className: object.storageClassName, segments: object.nodeTopology?.matchLabels ?? {} };
}

/** A slot as the key of a work queue; {@link parseSlotKey} reads it. */
export function slotKey({ className, segments }: Slot): string {
  return JSON.stringify([className, termKey(segments)]);
}

/** The reverse of {@link slotKey}. */
export function parseSlotKey(key: string): Slot {
  const [className, term] = JSON.parse(key) as [string, string];
  return { className, segments: Object.fromEntries(JSON.parse(term) as [string, string][]) };
}
