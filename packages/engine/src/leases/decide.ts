import type { Lease } from "@mooring/store";
import { LEASE_NODE_LABEL } from "../api/names.ts";

/**
 * On a lease whose last holder was not seen to close the image, until its image has been replaced: that holder's identity.
 */
export const TAKEN_FROM = "storage.mooring.dev/taken-from";

/** On a lease that its holder gave back for one node alone: that node's name. Goes when the lease is taken. */
export const HANDED_TO = "storage.mooring.dev/handed-to";
/** How long to wait before another read of a lease that is meant for another node, or that its holder keeps. */
const HANDED_MS = 2000;

/**
 * On a lease that no time ends: the image is in a cluster that can shut its holder out, and only that takes the lease from
 * its holder. Its value is {@link CLUSTER}.
 */
export const FENCED_BY = "storage.mooring.dev/fenced-by";
/** The value of {@link FENCED_BY}. */
export const CLUSTER = "cluster";
/**
 * On a lease that was taken from a lost node: that node's name, once the cluster refuses what it writes. Goes when it is
 * taken.
 */
export const SHUT_OUT = "storage.mooring.dev/shut-out";

/** Everything that a decision about an image's lease depends on. */
export interface LeaseView {
  /** Undefined: no node ever had the image. */
  lease: Lease | undefined;
  /** Who asks: the node's name, and what distinguishes its agent from one of the same name elsewhere. */
  identity: string;
  nodeID: string;
  /** Where the volume belongs by its record; empty: nowhere. */
  wanted: string;
  /** The node that has the image by the volume's record; empty: none. */
  owner: string;
  durationMs: number;
  /** Added to the holder's time before it counts as over: clocks run at different speeds. */
  safetyMs: number;
  /** For how long we have seen no renewal, by our own clock. */
  unchangedMs: number;
  /** RFC 3339 with microseconds; for operators, no decision depends on it. */
  now: string;
}

/** The next step towards a lease, or away from it. */
export type LeaseStep =
  /** Write this; `spec.leaseTransitions` is the fencing token. */
  | { do: "write"; spec: NonNullable<Lease["spec"]>; takenFrom: string | undefined }
  /** Another node has it, for at least so long. */
  | { do: "wait"; holder: string; milliseconds: number };

/** Renew what is ours, take what is free, or what its holder has lost beyond doubt; else wait. Pure. */
export function decideLease(view: LeaseView): LeaseStep {
  const { lease, identity, durationMs, now } = view;
  const fresh = {
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(durationMs / 1000),
    renewTime: now,
  };
  const spec = lease?.spec;
  if (spec?.holderIdentity === identity) {
    return { do: "write", spec: { ...spec, ...fresh }, takenFrom: takenFrom(lease) };
  }
  // As long as the volume belongs there: once it does not, no node has the image, and any may.
  const handedTo = handedOver(lease);
  if (handedTo !== undefined && handedTo !== view.nodeID && handedTo === view.wanted) {
    return { do: "wait", holder: handedTo, milliseconds: HANDED_MS };
  }
  const left = lease === undefined ? 0 : leftFor(lease, view);
  if (left > 0) return { do: "wait", holder: holderOf(lease), milliseconds: left };
  const leaseTransitions = (spec?.leaseTransitions ?? 0) + 1;
  const before = lease === undefined ? deletedFrom(view) : (spec?.holderIdentity ?? "");
  const unclean = before === "" ? takenFrom(lease) : before;
  return { do: "write", spec: { ...spec, ...fresh, acquireTime: now, leaseTransitions }, takenFrom: unclean };
}

/** Milliseconds until the lease counts as lost; 0: it is free, or its holder has lost it beyond doubt. */
function timeLeft(lease: Lease, unchangedMs: number, safetyMs: number): number {
  const { holderIdentity, leaseDurationSeconds = 0 } = lease.spec ?? {};
  if (holderIdentity === undefined || holderIdentity === "") return 0;
  return Math.max(0, leaseDurationSeconds * 1000 + safetyMs - unchangedMs);
}

/**
 * Another node's is taken when that node was found to be lost; an earlier agent of this node's name cannot be found to be
 * lost.
 */
function leftFor(lease: Lease, { nodeID, unchangedMs, safetyMs }: LeaseView): number {
  const kept = endsByCluster(lease) && hasHolder(lease) && holderOf(lease) !== nodeID;
  return kept ? HANDED_MS : timeLeft(lease, unchangedMs, safetyMs);
}

/** No time ends it: see {@link FENCED_BY}. */
export function endsByCluster(lease: Lease): boolean {
  return lease.metadata.annotations?.[FENCED_BY] === CLUSTER;
}

/** Milliseconds for which the node of this lease may still write; Infinity: until the cluster shuts it out. */
export function writesFor(lease: Lease, unchangedMs: number, safetyMs: number): number {
  if (!endsByCluster(lease)) return timeLeft(lease, unchangedMs, safetyMs);
  return isShutOut(lease, holderOf(lease)) ? 0 : Number.POSITIVE_INFINITY;
}

/** The cluster refuses whatever that node still writes into the image. */
export function isShutOut(lease: Lease, nodeID: string): boolean {
  return !hasHolder(lease) && lease.metadata.annotations?.[SHUT_OUT] === nodeID;
}

/** A node has it, as far as its record has it. */
export function hasHolder(lease: Lease): boolean {
  return (lease.spec?.holderIdentity ?? "") !== "";
}

/** No node has it, and its last holder was not seen to close the image. */
export function isTaken(lease: Lease): boolean {
  return !hasHolder(lease) && takenFrom(lease) !== undefined;
}

/**
 * An operator has deleted the lease of an image that its node was not seen to close: an agent that gives one back leaves
 * the object there.
 */
function deletedFrom({ owner, nodeID }: LeaseView): string {
  return owner === nodeID ? "" : owner;
}

/** The mark stays until the image has been replaced, also when several nodes have the lease one after the other. */
function takenFrom(lease: Lease | undefined): string | undefined {
  return lease?.metadata.annotations?.[TAKEN_FROM];
}

/** The node that a lease without a holder was given back for; undefined: for any. */
export function handedOver(lease: Lease | undefined): string | undefined {
  const held = (lease?.spec?.holderIdentity ?? "") !== "";
  return held ? undefined : lease?.metadata.annotations?.[HANDED_TO];
}

/** Name of the node whose agent holds the lease. */
export function holderOf(lease: Lease | undefined): string {
  return lease?.metadata.labels?.[LEASE_NODE_LABEL] ?? lease?.spec?.holderIdentity ?? "";
}
