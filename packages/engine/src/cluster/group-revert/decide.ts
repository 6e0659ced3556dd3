import { DONE, defined, hasFinalizer, isDeleting, type Outcome, wait } from "@mooring/store";
import { pendingRestore } from "../../api/pending.ts";
import { planOf } from "./plan.ts";
import { isReported, type RevertReport, statusReporting } from "./statuses.ts";
import {
  type EventToEmit,
  isAsked,
  isBack,
  isFinished,
  type MemberView,
  type RevertStep,
  type RevertView,
} from "./view.ts";

/** The finalizer on a revert that has begun: it keeps the object until its tickets are gone. */
export const REVERT_FINALIZER = "storage.mooring.dev/group-revert";

/** How old the names of pods in a message may be, in milliseconds. */
const USERS_MS = 2_000;

/**
 * The next step of a revert. All members are attached and kept first, and nothing is changed. One write decides. From there
 * on every member has its new bytes or is kept until it has: no workload sees an old one beside a new one. Pure.
 */
export function decide(view: RevertView): RevertStep | Outcome {
  const { revert } = view;
  if (isFinished(revert)) return ending(view);
  if (revert.status?.phase === "Reverting") return reverting(view);
  if (isDeleting(revert)) {
    return hasFinalizer(revert, REVERT_FINALIZER)
      ? fail(view, "Deleted", "it was deleted before it was decided: nothing has been changed")
      : DONE;
  }
  if (!hasFinalizer(revert, REVERT_FINALIZER)) return { do: "add-finalizer" };
  return revert.status?.members === undefined ? planning(view) : requesting(view);
}

function planning(view: RevertView): RevertStep | Outcome {
  const plan = planOf(view);
  if (!Array.isArray(plan)) {
    if (plan.final) return fail(view, plan.reason, plan.message);
    return reportOnce(view, { phase: "Waiting", reason: plan.reason, message: plan.message });
  }
  const message = `${plan.length} volumes are to go back`;
  const status = statusReporting(view, { phase: "Waiting", reason: "Planned", message });
  const sourceUID = view.source?.groupSnapshot?.metadata.uid;
  const volumes = { total: plan.length, held: 0, reverted: 0 };
  return {
    do: "record",
    status: { ...status, members: plan, volumes, ...defined({ sourceUID }) },
  };
}

/** Nothing has changed yet, and nothing does before all are kept. */
function requesting(view: RevertView): RevertStep | Outcome {
  const { revert, members, rival } = view;
  for (const member of members) {
    const problem = unfit(member);
    if (problem !== undefined) return fail(view, problem.reason, problem.message);
  }
  // Only the oldest takes anything: two that have a part each would wait for each other.
  if (rival !== undefined) {
    const message = `revert ${rival.name} of volume ${rival.volume} comes first`;
    return reportOnce(view, { phase: "Waiting", reason: "OtherRevert", message });
  }
  const busy = members.find(({ object }) => isBusy(view, object));
  if (busy !== undefined) {
    const message = `volume ${busy.volume} (claim ${busy.claim}) is being restored by itself`;
    return reportOnce(view, { phase: "Waiting", reason: "OtherRestore", message });
  }
  if (revert.status?.phase !== "Holding") {
    return reportOnce(view, { phase: "Holding", reason: "Holding", message: "asks for all volumes" });
  }
  if (members.some(({ object }) => object !== undefined && !isAsked(revert, object)))
    return { do: "request" };
  const missing = members.filter(({ held }) => !held);
  if (missing.length === 0) {
    const message = `${members.length} volumes are held and go back now`;
    return {
      do: "commit",
      status: statusReporting(view, { phase: "Reverting", reason: "Committed", message }),
    };
  }
  const message = `waits for ${missing.map(awaited).join("; ")}`;
  const inUse = missing.some(({ users }) => users.length > 0);
  const report: RevertReport = { phase: "Holding", reason: inUse ? "InUse" : "Holding", message };
  if (!inUse) return reportOnce(view, report);
  const step = reportOnce(view, report, { type: "Warning", reason: "InUse" });
  // No informer watches pods for the names of those that use a volume.
  return step.do === "wait" ? wait(USERS_MS) : step;
}

function awaited({ volume, claim, users }: MemberView): string {
  const by = users.length === 0 ? "" : ` held by ${users.join(", ")}`;
  return `volume ${volume} (claim ${claim})${by}`;
}

function isBusy({ revert }: RevertView, volume: MemberView["object"]): boolean {
  return volume !== undefined && !isAsked(revert, volume) && pendingRestore(volume) !== undefined;
}

function unfit({
  volume,
  claim,
  snapshot,
  object,
  image,
}: MemberView): Pick<RevertReport, "reason" | "message"> | undefined {
  const subject = `volume ${volume} (claim ${claim})`;
  if (object === undefined || isDeleting(object)) {
    return { reason: "VolumeGone", message: `${subject} is gone, or is being deleted` };
  }
  if (image === undefined || isDeleting(image)) {
    return {
      reason: "SnapshotGone",
      message: `snapshot ${snapshot} of ${subject} is gone, or is being deleted`,
    };
  }
  if (image.status?.readyToUse !== true) {
    const why = image.status?.error?.message ?? "it is not ready to use";
    return { reason: "SnapshotLost", message: `snapshot ${snapshot} of ${subject}: ${why}` };
  }
  if (image.spec.volume !== volume || image.spec.pool !== object.spec.pool) {
    return { reason: "SnapshotUnfit", message: `snapshot ${snapshot} is not one of ${subject} in its pool` };
  }
  if (object.status?.robustness === "faulted") {
    const next = "restore it by itself first (spec.restoreFrom of the Volume)";
    return { reason: "Faulted", message: `${subject} is faulted: ${next}` };
  }
  return undefined;
}

/** The revert is decided: it can only go on. */
function reverting(view: RevertView): RevertStep | Outcome {
  const { revert, members } = view;
  const waiting = members.filter((member) => !isBack(revert, member));
  if (waiting.length === 0) {
    const message = `${members.length} volumes are as they were in the group snapshot`;
    return record(
      view,
      { phase: "Complete", reason: "Reverted", message },
      { type: "Normal", reason: "Reverted" },
    );
  }
  if (waiting.some(({ object }) => object !== undefined && !isOrdered(view, object))) return { do: "order" };
  const late = waiting.flatMap(({ volume, object }) => {
    const why = object?.status?.restore?.state === "Pending" ? object.status.restore.message : undefined;
    return why === undefined ? [] : [`volume ${volume}: ${why}`];
  });
  if (late.length === 0) return wait();
  const message = `goes on until all are back, and keeps workloads off meanwhile: ${late.join("; ")}`;
  return reportOnce(
    view,
    { phase: "Reverting", reason: "Retrying", message },
    { type: "Warning", reason: "Retrying" },
  );
}

function isOrdered({ revert }: RevertView, volume: NonNullable<MemberView["object"]>): boolean {
  return isAsked(revert, volume) && volume.spec.restoreFrom?.revert?.committed === true;
}

/** A revert that has failed releases its members as they were. */
function ending({ revert, members }: RevertView): RevertStep | Outcome {
  const failed = revert.status?.phase === "Failed";
  const asked = members.some(({ object }) => object !== undefined && isAsked(revert, object));
  if (failed && asked) return { do: "release" };
  return hasFinalizer(revert, REVERT_FINALIZER) ? { do: "remove-finalizer" } : DONE;
}

function fail(view: RevertView, reason: string, message: string): RevertStep {
  return record(view, { phase: "Failed", reason, message }, { type: "Warning", reason: "RevertFailed" });
}

function reportOnce(view: RevertView, report: RevertReport, event?: EventToEmit): RevertStep | Outcome {
  return isReported(view, report) ? wait() : record(view, report, event);
}

function record(view: RevertView, report: RevertReport, event?: EventToEmit): RevertStep {
  return { do: "record", status: statusReporting(view, report), ...defined({ event }) };
}
