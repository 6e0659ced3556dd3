import { formatQuantity, type PersistentVolumeClaim } from "@mooring/store";
import { withCondition } from "../common/conditions.ts";
import type { ResizeStatus } from "./sizes.ts";

/** Conditions that stand for one expansion: they come and go together. */
const RESIZE_CONDITIONS: ReadonlySet<string> = new Set([
  "Resizing",
  "FileSystemResizePending",
  "ControllerResizeError",
  "NodeResizeError",
]);

/** What a step changes of a claim's sizes and conditions. Sizes in bytes. */
export interface ResizeStatusChange {
  condition?: { type: string; message: string };
  status?: Exclude<ResizeStatus, "">;
  allocated?: bigint;
  capacity?: bigint;
}

/** The claim's status after a step. Conditions of others stay; `now` is RFC 3339. */
export function resizeStatus(claim: PersistentVolumeClaim, change: ResizeStatusChange, now: string): object {
  const { condition, status, allocated, capacity } = change;
  return {
    conditions: withCondition(claim, RESIZE_CONDITIONS, condition, now),
    allocatedResourceStatuses: { storage: status ?? null },
    ...(allocated === undefined ? {} : { allocatedResources: { storage: formatQuantity(allocated) } }),
    ...(capacity === undefined ? {} : { capacity: { storage: formatQuantity(capacity) } }),
  };
}
