import { formatQuantity, type PersistentVolumeClaim } from "@mooring/store";
import type { ResizeStatus } from "./sizes.ts";

type Condition = NonNullable<NonNullable<PersistentVolumeClaim["status"]>["conditions"]>[number];

/** Conditions that stand for one expansion: they come and go together. */
const RESIZE_CONDITIONS: ReadonlySet<string> = new Set([
  "Resizing",
  "FileSystemResizePending",
  "ControllerResizeError",
  "NodeResizeError",
]);

export interface ResizeStatusChange {
  condition?: { type: string; message: string };
  status?: Exclude<ResizeStatus, "">;
  allocated?: bigint;
  capacity?: bigint;
}

/** The claim's status after a step. Conditions of others stay; `now` is RFC 3339. */
export function resizeStatus(claim: PersistentVolumeClaim, change: ResizeStatusChange, now: string): object {
  const { condition, status, allocated, capacity } = change;
  const before = claim.status?.conditions ?? [];
  const others = before.filter(({ type }) => !RESIZE_CONDITIONS.has(type));
  const known = before.find(
    ({ type, message = "" }) => type === condition?.type && message === condition.message,
  );
  const fresh: Condition[] =
    condition === undefined
      ? []
      : [known ?? { ...condition, status: "True", lastTransitionTime: now, lastProbeTime: now }];
  return {
    conditions: [...others, ...fresh],
    allocatedResourceStatuses: { storage: status ?? null },
    ...(allocated === undefined ? {} : { allocatedResources: { storage: formatQuantity(allocated) } }),
    ...(capacity === undefined ? {} : { capacity: { storage: formatQuantity(capacity) } }),
  };
}
