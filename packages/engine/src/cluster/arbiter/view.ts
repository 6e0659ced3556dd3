import type { AttachmentTicket, VolumeAttachment, VolumeMoves } from "../../api/attachment.ts";
import type { NodeAgent } from "../../api/node-agent.ts";
import type { ShareManager } from "../../api/share-manager.ts";
import type { Volume } from "../../api/volume.ts";
import type { KubernetesClaim } from "../../tickets/kubernetes-claim.ts";
import type { TicketResult } from "../../tickets/result.ts";

/** Everything a decision may depend on. */
export interface ArbiterView {
  volume: Volume;
  attachment: VolumeAttachment;
  /** By node id. */
  nodes: ReadonlyMap<string, NodeAgent>;
  /** Nodes that can open the volume because its pool is shared; absent: only the one that has its data can. */
  sharedBy?: readonly string[];
  /** The storage below the volume's pool can shut a lost node out of it. */
  shutsOut?: boolean;
  /** What the node that serves the volume to many reports; absent: nothing yet. */
  share?: ShareManager;
  /** Ids of tickets whose owner object is gone. */
  ownersGone: ReadonlySet<string>;
  /** What Kubernetes records of the volume; absent where there is no Kubernetes. */
  claims?: readonly KubernetesClaim[];
  now: Date;
}

/** What the arbiter alone writes into a Volume's spec. */
export interface Placement {
  /** The empty string: detached. */
  nodeID: string;
  /** Where it is to move to from there; absent or empty: nowhere. */
  migrationNodeID?: string;
  disableFrontend: boolean;
  lastAttachedBy: string;
}

/** What the arbiter wants of a volume and its tickets; it is written one object at a time. */
export interface Decision {
  /** What was lost and comes back. */
  repair: Repair;
  /** Tickets that end now, by id. */
  remove: Record<string, "Expired" | "OwnerGone">;
  /** Generations for tickets that were written without one, by id. */
  number: Record<string, number>;
  /** Absent: the volume stays as it is. */
  placement?: Placement;
  /** What is to be remembered of the volume's moves, and whether they are too many. */
  flaps: Flaps;
  /** One for every ticket, also for those that end now. */
  results: Record<string, TicketResult>;
}

/** Where the volume's spec puts it now. */
export function placementOf(volume: Volume): Placement {
  const { nodeID, migrationNodeID = "", disableFrontend, lastAttachedBy } = volume.spec;
  return {
    nodeID: nodeID ?? "",
    ...(migrationNodeID === "" ? {} : { migrationNodeID }),
    disableFrontend: disableFrontend ?? false,
    lastAttachedBy: lastAttachedBy ?? "",
  };
}

/** What is known of a volume that is moved about. */
export interface Flaps {
  /** What to remember; absent: it was never moved. */
  moves?: VolumeMoves;
  /** It was moved too often while nothing changed that could be a reason. */
  flapping: boolean;
  /** One sentence. */
  message: string;
  /** No attach before. Absent: no need to wait. */
  backoffUntil?: Date;
  /** When this is to be read again without any event. */
  recheckAt?: Date;
}

/** What an attachment object lacks; everything in it is written before anything else is decided. */
export interface Repair {
  /** Tickets that have to be there, by id. */
  add: Record<string, AttachmentTicket>;
  /** Owners of tickets that do not name the right one yet, by ticket id. */
  own: Record<string, NonNullable<AttachmentTicket["owner"]>>;
  /** Absent: as it should be. */
  metadata?: VolumeAttachment["metadata"];
}
