import type { AttachmentTicket, VolumeAttachment } from "../../api/attachment.ts";
import { isEvicted, isFencedNode, type NodeAgent } from "../../api/node-agent.ts";
import { isServed, type Volume } from "../../api/volume.ts";
import { yieldsToWorkload } from "../../tickets/attacher-types.ts";
import type { TicketReason } from "../../tickets/result.ts";
import { ticketStatus } from "../../tickets/tickets.ts";
import { ticketsOf } from "../../tickets/tickets-of.ts";

/** What says whether an image is wanted elsewhere. */
interface Demand {
  volume: Volume;
  /** Undefined: nobody has asked for the volume. */
  attachment: VolumeAttachment | undefined;
  /** The lost node, which has the image. */
  nodeID: string;
  agent: NodeAgent;
}

const UNFENCED: TicketReason = "NodeUnfenced";

/**
 * Whether somebody else wants what a lost node has. A node whose agent alone is silent goes on with the rest: its workloads
 * notice nothing, and need nothing when it is back (decision 118). Pure.
 */
export function isAskedFor({ volume, attachment, nodeID, agent }: Demand): boolean {
  // An operator says that the machine is off, or its pods are to run elsewhere.
  if (isFencedNode(agent) || isEvicted(agent)) return true;
  // Its workload has left, and what is still to be done somebody else has to do.
  if ((volume.spec.nodeID ?? "") !== nodeID) return true;
  const tickets = attachment === undefined ? [] : ticketsOf(attachment);
  const others = tickets.filter((ticket) => ticket.nodeID !== nodeID);
  // What they read and write goes through the lost node.
  if (isServed(volume)) return others.some(({ type }) => type === "csi-attacher");
  const isInUse = tickets.some((ticket) => ticket.nodeID === nodeID && !yieldsToWorkload(ticket));
  const waits = ({ id }: AttachmentTicket) =>
    attachment !== undefined && ticketStatus(attachment, id)?.conditions?.[0]?.reason === UNFENCED;
  // A snapshot can wait; a workload that goes on is not ended for it.
  return others.some((ticket) => waits(ticket) && !(isInUse && yieldsToWorkload(ticket)));
}
