import { isDeepStrictEqual } from "node:util";
import { DONE, isDeleting, type Outcome, type PersistentVolumeClaim, wait } from "@mooring/store";
import type { MemberStatus, VolumeGroupRestore } from "../kube/group-restore.ts";
import type { VolumeGroup } from "../kube/volume-group.ts";
import { assess, isComplete } from "./assess.ts";
import { claimFor } from "./claim-for.ts";
import { assessGroup, groupFor, REFUSED_GROUP } from "./into-group.ts";
import { preflight } from "./preflight.ts";
import { obstacleStatus, progressStatus, type RestoreStatus } from "./statuses.ts";
import { TROUBLES_READ_MS } from "./troubles.ts";
import type { GroupRestoreView } from "./view.ts";

interface RestoreEvent {
  type: "Normal" | "Warning";
  reason: string;
  message: string;
}

/** One visible change for a VolumeGroupRestore. */
export type GroupRestoreStep =
  | { do: "write-status"; status: RestoreStatus; event: RestoreEvent | undefined }
  | { do: "create-group"; group: VolumeGroup }
  | { do: "create-claims"; claims: PersistentVolumeClaim[] };

/** The next step for one VolumeGroupRestore: first the whole plan, then all claims, then nothing ever again. */
export function decideGroupRestore(view: GroupRestoreView): GroupRestoreStep | Outcome {
  const { restore } = view;
  if (restore === undefined || isDeleting(restore) || isOfAnother(view, restore)) return DONE;
  if (restore.status?.phase === "Ready") return DONE;
  const { members, source } = restore.status ?? {};
  return members === undefined ? decidePlan(view, restore) : decideClaims(view, restore, members, source);
}

/** Several drivers may have a process like this one: the driver of the group snapshot decides whose restore it is. */
function isOfAnother({ content, driver }: GroupRestoreView, restore: VolumeGroupRestore): boolean {
  const of = restore.status?.source?.driver ?? content?.spec.driver;
  return of !== undefined && of !== driver;
}

function decidePlan(view: GroupRestoreView, restore: VolumeGroupRestore): GroupRestoreStep | Outcome {
  const result = preflight(view, restore);
  const status =
    result.kind === "plan"
      ? progressStatus(restore, result.members, { source: result.source }, view.now)
      : obstacleStatus(restore, result, view.now);
  return writeUnlessSame(restore, status) ?? DONE;
}

function decideClaims(
  view: GroupRestoreView,
  restore: VolumeGroupRestore,
  members: readonly MemberStatus[],
  source: RestoreStatus["source"],
): GroupRestoreStep | Outcome {
  const wish = restore.spec.volumeGroup;
  const claimNames = members.map(({ claimName }) => claimName);
  const group = wish === undefined ? undefined : groupState(view, restore, { name: wish.name, claimNames });
  if (wish !== undefined && group !== undefined && "make" in group)
    return { do: "create-group", group: groupFor(restore, wish, claimNames) };
  const next: MemberStatus[] = [];
  const claims: PersistentVolumeClaim[] = [];
  for (const member of members) {
    const assessment = assess(view, restore, member);
    if (assessment === "create") claims.push(claimFor(restore, member));
    else next.push({ ...member, ...assessment });
  }
  if (claims.length > 0) return { do: "create-claims", claims };
  const made = group === undefined || "make" in group ? undefined : { name: wish?.name ?? "", ...group };
  const status = progressStatus(restore, next, { source, made }, view.now);
  return writeUnlessSame(restore, status) ?? restOf(view, next);
}

/**
 * Makes the VolumeGroup first: its name may be taken, and then nothing else is made. A restore that was complete makes none
 * again.
 */
function groupState(
  view: GroupRestoreView,
  restore: VolumeGroupRestore,
  { claimNames, name }: { claimNames: readonly string[]; name: string },
) {
  const { backoffMs, refused, target } = view;
  if (isComplete(restore) && target?.group === undefined) return { joined: 0 };
  const refusal = backoffMs > 0 ? refused.get(`${REFUSED_GROUP}${name}`) : undefined;
  return assessGroup(restore, target, { claimNames, refusal });
}

/**
 * No watch wakes the restore when a provisioner reports in an event why it has made no volume: while one is missing, the
 * restore reads the events by the clock.
 */
function restOf({ backoffMs }: GroupRestoreView, members: readonly MemberStatus[]): Outcome {
  if (backoffMs > 0) return wait(backoffMs);
  return members.some(({ phase }) => phase === "Provisioning") ? wait(TROUBLES_READ_MS) : DONE;
}

function writeUnlessSame(restore: VolumeGroupRestore, status: RestoreStatus): GroupRestoreStep | undefined {
  if (isDeepStrictEqual(status, restore.status)) return undefined;
  return { do: "write-status", status, event: eventOf(restore.status, status) };
}

/** A new phase is reported, and every new reason of a failure. */
function eventOf(before: RestoreStatus | undefined, after: RestoreStatus): RestoreEvent | undefined {
  const { phase, message, conditions } = after;
  const isNews = before?.phase !== phase || (phase === "Failed" && before.message !== message);
  if (!isNews || phase === "Waiting") return undefined;
  const reason = phase === "Failed" ? (conditions?.[0]?.reason ?? phase) : `Restore${phase}`;
  return { type: phase === "Failed" ? "Warning" : "Normal", reason, message };
}
