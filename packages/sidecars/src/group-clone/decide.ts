import { isDeepStrictEqual } from "node:util";
import {
  type Condition,
  DONE,
  defined,
  hasFinalizer,
  isDeleting,
  type KubeObject,
  type Outcome,
} from "@mooring/store";
import { GROUP_DRIVER } from "../common/volume-group-names.ts";
import { CLONE_FINALIZER, type ClonePhase, type VolumeGroupClone } from "../kube/group-clone.ts";
import { groupNameOf, isPartOf, partNameOf, restoreFor, snapshotFor } from "./parts.ts";
import type { CloneStatus, GroupCloneStep, GroupCloneView } from "./view.ts";

/** The next step for one VolumeGroupClone: snapshot, restore, and then nothing of the two is left. */
export function decideGroupClone(view: GroupCloneView): GroupCloneStep | Outcome {
  const { clone } = view;
  if (clone === undefined) return DONE;
  if (isDeleting(clone)) return hasFinalizer(clone, CLONE_FINALIZER) ? takeAway(view, clone, true) : DONE;
  if (clone.status?.phase === "Ready") return DONE;
  const isProtected = hasFinalizer(clone, CLONE_FINALIZER);
  if (isAllThere(clone)) return takeAway(view, clone, false);
  const obstacle = isProtected ? undefined : obstacleOf(view, clone);
  if (obstacle === "another driver's") return DONE;
  if (obstacle !== undefined) return report(view, clone, "Waiting", obstacle);
  if (!isProtected) return { do: "add-finalizer" };
  return build(view, clone);
}

/**
 * True when the status has reported once that everything is there: what comes later, as a claim that is deleted, does not
 * change that any more.
 */
const isAllThere = ({ status }: VolumeGroupClone): boolean => status?.phase === "Cleaning";

/** Why there can be no snapshot of the group yet: nothing is made before. */
function obstacleOf({ driver, source }: GroupCloneView, { spec }: VolumeGroupClone): string | undefined {
  const name = spec.source.volumeGroupName;
  if (source === undefined) return `VolumeGroup ${name} does not exist`;
  const of = source.metadata.annotations?.[GROUP_DRIVER];
  if (of !== undefined && of !== driver) return "another driver's";
  if (isDeleting(source)) return `VolumeGroup ${name} is being deleted`;
  const ready = source.status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "True"
    ? undefined
    : `VolumeGroup ${name} is not ready: ${ready?.message ?? "no controller has taken it up"}`;
}

function build(view: GroupCloneView, clone: VolumeGroupClone): GroupCloneStep | Outcome {
  const { restore, snapshot, source } = view;
  const conflicting = [snapshot, restore].find((part) => part !== undefined && !isPartOf(part, clone));
  if (conflicting !== undefined)
    return report(view, clone, "Failed", `${conflicting.kind} ${partNameOf(clone)} is in the way: delete it`);
  if (snapshot === undefined && restore === undefined)
    return { do: "create-snapshot", snapshot: snapshotFor(clone) };
  if (snapshot?.status?.readyToUse !== true && restore === undefined) {
    const why = snapshot?.status?.error?.message;
    return report(view, clone, "Snapshotting", why ?? "a snapshot of all members is being made");
  }
  if (restore === undefined) return { do: "create-restore", restore: restoreFor(clone, source) };
  const { message = "the claims are about to be made", phase } = restore.status ?? {};
  if (phase === "Ready") return report(view, clone, "Cleaning", message);
  return report(view, clone, phase === "Failed" ? "Failed" : "Restoring", message);
}

/** The restore first: it would miss its snapshot. Then the snapshot with its data; the clone is over when both are gone. */
function takeAway(
  view: GroupCloneView,
  clone: VolumeGroupClone,
  isEnding: boolean,
): GroupCloneStep | Outcome {
  const restore = own(view.restore, clone);
  const snapshot = own(view.snapshot, clone);
  if (restore !== undefined) return isDeleting(restore) ? DONE : { do: "delete-restore", restore };
  if (snapshot !== undefined) {
    if (!isDeleting(snapshot)) return { do: "delete-snapshot", snapshot };
    const message = snapshot.status?.error?.message ?? "the internal group snapshot is being deleted";
    return isEnding ? DONE : report(view, clone, "Cleaning", message);
  }
  if (isEnding) return { do: "release" };
  return hasFinalizer(clone, CLONE_FINALIZER)
    ? { do: "release" }
    : report(view, clone, "Ready", `VolumeGroup ${groupNameOf(clone)} is ready`);
}

function own<T extends KubeObject>(part: T | undefined, clone: VolumeGroupClone): T | undefined {
  return part !== undefined && isPartOf(part, clone) ? part : undefined;
}

function report(
  { now, restore }: GroupCloneView,
  clone: VolumeGroupClone,
  phase: ClonePhase,
  message: string,
): GroupCloneStep | Outcome {
  const made = restore?.status;
  const claims =
    made?.claims === undefined
      ? clone.status?.claims
      : { total: made.claims.total, bound: made.claims.bound };
  const members =
    made?.members?.map(({ claimName, sourceClaim }) => ({ sourceClaim, claimName })) ?? clone.status?.members;
  const status: CloneStatus = {
    phase,
    message,
    ...defined({ observedGeneration: clone.metadata.generation, claims, members }),
    volumeGroupName: groupNameOf(clone),
    conditions: [
      condition(clone, { type: "Ready", is: phase === "Ready", phase, message, now }),
      condition(clone, { type: "Failed", is: phase === "Failed", phase, message, now }),
    ],
  };
  if (isDeepStrictEqual(status, clone.status)) return DONE;
  const before = clone.status;
  const isNews = before?.phase !== phase || (phase === "Failed" && before.message !== message);
  return { do: "write-status", status, isNews };
}

function condition(
  { status: known }: VolumeGroupClone,
  condition: { type: string; is: boolean; phase: ClonePhase; message: string; now: string },
): Condition {
  const { is, message, now, phase, type } = condition;
  const status = is ? "True" : "False";
  const before = known?.conditions?.find((each) => each.type === type);
  const lastTransitionTime = before?.status === status ? before.lastTransitionTime : now;
  return { type, status, reason: phase, message, lastTransitionTime };
}
