import type { PersistentVolumeClaim } from "@mooring/store";
import { defined } from "@mooring/store";
import { withCondition } from "../common/conditions.ts";

/** Conditions that stand for one change: they come and go together. */
const MODIFY_CONDITIONS: ReadonlySet<string> = new Set(["ModifyingVolume", "ModifyVolumeError"]);

/** What a step changes of a claim's `modifyVolumeStatus` and conditions. */
export interface ModifyStatusChange {
  /** Absent: no change is under way. */
  progress?: { status: "Pending" | "InProgress" | "Infeasible"; target: string };
  condition?: { type: "ModifyingVolume" | "ModifyVolumeError"; message: string };
  /** The class that is in force from now on. */
  current?: string;
}

/** The claim's status after a step. Conditions of others stay; `now` is RFC 3339. */
export function modifyStatus(claim: PersistentVolumeClaim, change: ModifyStatusChange, now: string): object {
  const { condition, current, progress } = change;
  return {
    conditions: withCondition(claim, MODIFY_CONDITIONS, condition, now),
    modifyVolumeStatus:
      progress === undefined
        ? null
        : { status: progress.status, targetVolumeAttributesClassName: progress.target },
    ...defined({ currentVolumeAttributesClassName: current }),
  };
}

/** Whether the status has all of this already: it is written once per error, not once per attempt. */
export function isReported(
  { status }: PersistentVolumeClaim,
  { progress, condition }: ModifyStatusChange,
): boolean {
  const { conditions = [], modifyVolumeStatus } = status ?? {};
  return (
    modifyVolumeStatus?.status === progress?.status &&
    modifyVolumeStatus?.targetVolumeAttributesClassName === progress?.target &&
    conditions.some(({ type, message = "" }) => type === condition?.type && message === condition.message)
  );
}
