import type { AttacherType, AttachmentTicket } from "../api/attachment.ts";

/** The arbiter's rule for a kind of ticket. */
export interface AttacherRule {
  /** The highest is picked first from a detached volume. It never takes a volume away from another ticket. */
  priority: number;
  /** An operator's or a Pod's use of the volume: the only tickets that others yield to. */
  workload: boolean;
  /** When it gives up a volume that it already has, for a workload on another node. */
  yields: "never" | "always" | "when-waiting";
  /** It makes a faulted volume whole again, so it may have one. */
  repairs?: true;
}

/** Parameter of a `volume-clone-controller` ticket whose copy is done and only waits for the target to be healthy. */
export const CLONE_WAITING = "cloneWaiting";

/** The twelve types with their priorities (volume attachment design, "Priority"). */
export const ATTACHER_RULES: Readonly<Record<AttacherType, AttacherRule>> = {
  "volume-restore-controller": { priority: 2000, workload: false, yields: "never", repairs: true },
  "volume-expansion-controller": { priority: 2000, workload: false, yields: "never" },
  "longhorn-api": { priority: 1000, workload: true, yields: "never" },
  "csi-attacher": { priority: 900, workload: true, yields: "never" },
  "salvage-controller": { priority: 900, workload: false, yields: "never", repairs: true },
  "share-manager-controller": { priority: 900, workload: true, yields: "never" },
  "snapshot-controller": { priority: 800, workload: false, yields: "always" },
  "backup-controller": { priority: 800, workload: false, yields: "always" },
  "volume-clone-controller": { priority: 800, workload: false, yields: "when-waiting" },
  "volume-eviction-controller": { priority: 800, workload: false, yields: "never" },
  "bim-ds-controller": { priority: 800, workload: false, yields: "never" },
  "volume-rebuilding-controller": { priority: 800, workload: false, yields: "never" },
};

const UNKNOWN_TYPE: AttacherRule = { priority: 0, workload: false, yields: "never" };

/** The rule of a type; an unknown type comes after all others. */
export function ruleOf(type: string): AttacherRule {
  return Object.hasOwn(ATTACHER_RULES, type) ? ATTACHER_RULES[type as AttacherType] : UNKNOWN_TYPE;
}

/** True for a ticket that gives the volume up for a workload on another node: its work can be done again there. */
export function yieldsToWorkload(ticket: AttachmentTicket): boolean {
  const { yields } = ruleOf(ticket.type);
  return yields === "always" || (yields === "when-waiting" && ticket.parameters?.[CLONE_WAITING] === "true");
}
