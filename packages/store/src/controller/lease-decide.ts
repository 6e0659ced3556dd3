import type { Lease } from "../kinds/kubernetes.ts";

type LeaseSpec = NonNullable<Lease["spec"]>;

/** The version of a Lease that was seen, and when it was new to us (monotonic milliseconds). */
export interface LeaseObservation {
  record: string | undefined;
  at: number;
}

interface LeaseView {
  identity: string;
  durationMs: number;
  /** For how long the Lease has not changed, on our own clock. */
  unchangedMs: number;
  /** RFC 3339 with microseconds. */
  now: string;
}

type LeaseStep = { kind: "wait" } | { kind: "write"; spec: LeaseSpec };

/** Renew what is ours, take what has no holder or what its holder has let expire, else wait. */
export function decideLease(current: LeaseSpec | undefined, view: LeaseView): LeaseStep {
  const { identity, now } = view;
  const leaseDurationSeconds = Math.max(1, Math.ceil(view.durationMs / 1000));
  const fresh = { holderIdentity: identity, leaseDurationSeconds, renewTime: now };
  if (current === undefined) {
    return { kind: "write", spec: { ...fresh, acquireTime: now, leaseTransitions: 0 } };
  }
  if (current.holderIdentity === identity) {
    return { kind: "write", spec: { ...current, ...fresh } };
  }
  const validForMs = (current.leaseDurationSeconds ?? leaseDurationSeconds) * 1000;
  const held = current.holderIdentity !== undefined && current.holderIdentity !== "";
  if (held && view.unchangedMs < validForMs) return { kind: "wait" };
  const leaseTransitions = (current.leaseTransitions ?? 0) + 1;
  return { kind: "write", spec: { ...current, ...fresh, acquireTime: now, leaseTransitions } };
}
