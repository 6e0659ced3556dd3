import { isDeleting } from "@mooring/store";
import type { AttacherType, AttachmentTicket } from "../../../api/attachment.ts";
import { MOST_ATTEMPTS } from "../../../api/attempts.ts";
import { pendingExpansion, pendingRestore } from "../../../api/pending.ts";
import { pendingSalvage } from "../../../api/salvage.ts";
import type { Snapshot } from "../../../api/snapshot.ts";
import { isServed, type Volume } from "../../../api/volume.ts";
import { FINAL as FINAL_OF_SNAPSHOTS } from "../attach-for-snapshot/decide.ts";
import { FINAL as FINAL_OF_CLONES } from "../clone/decide.ts";

/** What decides whether a job still needs the ticket. */
export interface JobView {
  /** The volume that the ticket is on. */
  volume: Volume;
  /** All tickets on it. */
  tickets: readonly AttachmentTicket[];
  /** By name. */
  volumes: ReadonlyMap<string, Volume>;
  snapshots: ReadonlyMap<string, Snapshot>;
}

/** Why the ticket of this owner is not needed any more; undefined: it is at work, or nothing is known. */
type Finished = (view: JobView, owner: string) => string | undefined;

const GIVEN_UP = `was given up after ${MOST_ATTEMPTS} attempts`;

const snapshot: Finished = ({ snapshots }, owner) => {
  const { status } = snapshots.get(owner) ?? {};
  if (status?.creationTime !== undefined) return "is finished";
  return FINAL_OF_SNAPSHOTS.has(status?.error?.code ?? "") ? "has failed for good" : undefined;
};

const clone: Finished = ({ volumes }, owner) => {
  const { status } = volumes.get(owner) ?? {};
  if (status?.size !== undefined) return "is finished";
  return FINAL_OF_CLONES.has(status?.error?.code ?? "") ? "has failed for good" : undefined;
};

const expansion: Finished = ({ volume }) => {
  if (pendingExpansion(volume) !== undefined) return undefined;
  return volume.status?.expansion === undefined ? "is finished" : GIVEN_UP;
};

const restore: Finished = ({ volume }) => {
  if (pendingRestore(volume) !== undefined) return undefined;
  return volume.status?.restore?.state === "Failed" ? "has failed" : "is finished";
};

/** What waits for an operator's consent, and what no node can repair, has no ticket meanwhile. */
const salvage: Finished = ({ volume }) => {
  if (pendingSalvage(volume) !== undefined) return undefined;
  return volume.status?.robustness === "faulted" ? "cannot go on by itself" : "is finished";
};

const share: Finished = ({ volume, tickets }) => {
  if (!isServed(volume)) return "has nothing to serve";
  return tickets.some(({ type }) => type === "csi-attacher")
    ? undefined
    : "is finished: no workload uses the volume";
};

/** Every type; undefined: no service of ours has such a ticket, so it is finished only when its owner is gone. */
const RULES: Readonly<Record<AttacherType, Finished | undefined>> = {
  "snapshot-controller": snapshot,
  "volume-clone-controller": clone,
  "volume-expansion-controller": expansion,
  "volume-restore-controller": restore,
  "salvage-controller": salvage,
  "share-manager-controller": share,
  "longhorn-api": undefined,
  "csi-attacher": undefined,
  "backup-controller": undefined,
  "volume-eviction-controller": undefined,
  "bim-ds-controller": undefined,
  "volume-rebuilding-controller": undefined,
};

/**
 * Why the job behind a ticket does not need it any more, to follow "the job of X": the service that took the ticket
 * gives it back in a moment, so one that stays is left over. Undefined while the job is due. Pure.
 */
export function jobFinished(ticket: AttachmentTicket, view: JobView): string | undefined {
  const { owner, type } = ticket;
  const rule = Object.hasOwn(RULES, type) ? RULES[type] : undefined;
  if (owner === undefined || rule === undefined) return undefined;
  const finished = rule(view, owner.name);
  if (finished !== undefined) return finished;
  // Those who use it keep its server.
  const ends = isDeleting(view.volume) && type !== "share-manager-controller";
  return ends ? "is finished: the volume is being deleted" : undefined;
}
