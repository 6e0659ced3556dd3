import { Code, CsiError, NOTHING_MADE } from "@mooring/csi";

/** A call to the driver that failed. */
export interface CallFailure {
  /** Absent when the failure did not come from the driver: it is unknown what happened. */
  code?: number;
  message: string;
  /** The driver reports that nothing of that name is there, and that nothing is under way. */
  nothingMade?: true;
}

/** What is known of a failed call. A cancelled or broken call has no code. */
export function callFailure(error: unknown): CallFailure {
  const message = error instanceof Error ? error.message : String(error);
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== "number" || code <= 0 || code > 16) return { message };
  const nothingMade = error instanceof CsiError && error.reason === NOTHING_MADE;
  return { code, message, ...(nothingMade ? { nothingMade } : {}) };
}

/** The call may have had, or may still get, its effect: only a repetition shows. */
const UNCERTAIN: ReadonlySet<number> = new Set([
  Code.CANCELLED,
  Code.DEADLINE_EXCEEDED,
  Code.UNAVAILABLE,
  Code.ABORTED,
]);

/**
 * CreateVolume: RESOURCE_EXHAUSTED is final there (nothing was made, another node may have room). Everywhere else
 * it may mean "too many operations at once", so nothing can be concluded from it.
 */
export function isCreateVolumeUncertain({ code, nothingMade }: CallFailure): boolean {
  return !nothingMade && (code === undefined || UNCERTAIN.has(code));
}

/**
 * The call may have had an effect, or may still get it; RESOURCE_EXHAUSTED may mean "too much at once" here.
 */
export function isUncertain(failure: CallFailure): boolean {
  if (failure.nothingMade) return false;
  return isCreateVolumeUncertain(failure) || failure.code === Code.RESOURCE_EXHAUSTED;
}

/** The request can never succeed as it is: repeat it rarely, and at once when its arguments change. */
export function isInfeasible({ code }: CallFailure): boolean {
  return code === Code.INVALID_ARGUMENT || code === Code.UNIMPLEMENTED;
}

/**
 * The driver does not have the call, or not now: it must not be repeated (sections "Error Scheme" and "CreateVolume
 * Errors"). What may be asked again is what the driver can do, and that happens when it comes back.
 */
export function isNotImplemented({ code }: CallFailure): boolean {
  return code === Code.UNIMPLEMENTED;
}

/** Least back-off after a failure in milliseconds; infinite where the same call must not be repeated at all. */
export function minBackoff(failure: CallFailure, infeasibleMs: number, infeasible = isInfeasible): number {
  if (isNotImplemented(failure)) return Number.POSITIVE_INFINITY;
  return infeasible(failure) ? infeasibleMs : 0;
}

/** ControllerExpandVolume has two more codes that say so. */
export function isExpandInfeasible(failure: CallFailure): boolean {
  return isInfeasible(failure) || failure.code === Code.OUT_OF_RANGE || failure.code === Code.NOT_FOUND;
}

/** Codes about the request itself, and so also of what an earlier call with the same request can have done. */
const CONCLUSIVE: ReadonlySet<number> = new Set([
  Code.INVALID_ARGUMENT,
  Code.NOT_FOUND,
  Code.ALREADY_EXISTS,
  Code.RESOURCE_EXHAUSTED,
  Code.OUT_OF_RANGE,
  Code.UNIMPLEMENTED,
]);

/**
 * CreateVolumeGroupSnapshot: FAILED_PRECONDITION means there that no snapshot of these volumes together is possible (section
 * "CreateVolumeGroupSnapshot Errors"), so no call for them can have made a group.
 */
const GROUP_CONCLUSIVE: ReadonlySet<number> = new Set([...CONCLUSIVE, Code.FAILED_PRECONDITION]);

/** {@link provesNothingMade} of a group snapshot. */
export function provesNoGroupMade(failure: CallFailure, mayHaveBeenMade: boolean): boolean {
  return provesNothingMade(failure, isUncertain(failure), mayHaveBeenMade, GROUP_CONCLUSIVE);
}

/**
 * Whether a failed create call proves that nothing was made. After a call without a clear result an INTERNAL, or a
 * refusal of rotated credentials, proves nothing: the first call may have made what the second could not find.
 */
export function provesNothingMade(
  failure: CallFailure,
  uncertain: boolean,
  mayHaveBeenMade: boolean,
  conclusive = CONCLUSIVE,
): boolean {
  if (failure.nothingMade) return true;
  if (uncertain || failure.code === undefined) return false;
  return !mayHaveBeenMade || conclusive.has(failure.code);
}
