/** Why a ticket is or is not satisfied; the reason of its `Satisfied` condition. */
export type TicketReason =
  | "Attached"
  | "Attaching"
  | "Detaching"
  | "WaitingDetach"
  | "WaitingTurn"
  | "BlockedByUninterruptible"
  | "AttachedWithIncompatibleParameters"
  | "NodeNotFound"
  | "NodeNotReady"
  | "NodeUnreachable"
  | "NodeUnfenced"
  | "VolumeFaulted"
  | "VolumeNotReady"
  | "VolumeDeleting"
  | "ShareNotReady"
  | "NetworkNotTrusted"
  | "Migrating"
  | "MigrationWaiting"
  | "GenerationPending"
  | "Flapping"
  | "Expired"
  | "OwnerGone";

/** The arbiter's result for one ticket. */
export interface TicketResult {
  satisfied: boolean;
  reason: TicketReason;
  /** One sentence that names the ticket, node or error that this one waits for. */
  message: string;
}
