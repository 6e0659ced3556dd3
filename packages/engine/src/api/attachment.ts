import { type Condition, defineResource, type KubeObject } from "@mooring/store";
import { MOORING_GROUP, MOORING_VERSION } from "./names.ts";

/** What a ticket is for. The type decides which tickets yield to which, and which component may write it (decision 0014). */
export type AttacherType =
  | "csi-attacher"
  | "longhorn-api"
  | "snapshot-controller"
  | "backup-controller"
  | "volume-clone-controller"
  | "salvage-controller"
  | "share-manager-controller"
  | "volume-restore-controller"
  | "volume-eviction-controller"
  | "volume-expansion-controller"
  | "bim-ds-controller"
  | "volume-rebuilding-controller";

/** A request to have a volume attached to a node. */
export interface AttachmentTicket {
  /** Equals its key in the map. */
  id: string;
  type: AttacherType;
  nodeID: string;
  /** `disableFrontend`: "true", "false" (default) or "any"; `lastAttachedBy`: free text. */
  parameters?: Record<string, string>;
  /** From one counter per VolumeAttachment; never goes back. */
  generation?: number;
  /** The object that this ticket dies with. Absent: an operator's ticket. */
  owner?: { apiVersion: string; kind: string; namespace?: string; name: string; uid?: string };
  createdAt?: string;
  expiresAt?: string;
}

/** The arbiter's result for one ticket. */
export interface AttachmentTicketStatus {
  id: string;
  satisfied: boolean;
  conditions: Condition[];
  generation?: number;
}

/** How often a volume was moved while nothing changed that could be a reason. */
export interface VolumeMoves {
  /** Where it was to be after the last move; empty: nowhere. */
  nodeID: string;
  /** Moves one after the other, without a calm time between. */
  count: number;
  /** Digest of the tickets and of which of their nodes were well. */
  basis: string;
  /** The last move, RFC 3339. */
  movedAt: string;
}

/** One per Volume, same name. */
export interface VolumeAttachment extends KubeObject {
  spec: { volume: string; attachmentTickets?: Record<string, AttachmentTicket> };
  status?: {
    attachmentTicketStatuses?: Record<string, AttachmentTicketStatus>;
    /** Last generation given to a ticket. */
    generationCounter?: number;
    /** What each ticket asked for when it was evaluated, by ticket id: one that was edited by hand shows by its digest. */
    ticketDigests?: Record<string, string>;
    /** What is remembered of moves, so that a restart does not forget them. */
    moves?: VolumeMoves;
    /** `Flapping`: attaches wait because the volume was moved too often for no reason. */
    conditions?: Condition[];
    /** State of the volume, and the node that has it open; empty: none. */
    state?: string;
    nodeID?: string;
    /** How far a live migration is, as "step 2 of 3: a to b"; empty: there is none. */
    migration?: string;
    /** How many tickets are satisfied, and how many wait. */
    satisfied?: number;
    waiting?: number;
    /** Who has the volume: an operator's name or the type of the ticket; empty: no ticket has it. */
    holder?: string;
  };
}

/** Served at `/apis/storage.mooring.dev/v1alpha1/volumeattachments`. */
export const VolumeAttachments = defineResource<VolumeAttachment>({
  group: MOORING_GROUP,
  version: MOORING_VERSION,
  kind: "VolumeAttachment",
  plural: "volumeattachments",
  namespaced: false,
});
