import type { AttachmentTicket } from "../../api/attachment.ts";
import { isFencedNode } from "../../api/node-agent.ts";
import { isFaulted as isVolumeFaulted } from "../../api/salvage.ts";
import { ruleOf } from "../../tickets/attacher-types.ts";
import { parametersFit } from "../../tickets/frontend.ts";
import type { TicketResult } from "../../tickets/result.ts";
import type { ArbiterView } from "./view.ts";

/**
 * Undefined when the ticket's node may have the volume now, else why not. A ticket that is not eligible is never
 * picked, so a dead node cannot keep ready ones waiting.
 */
export function ineligible(view: ArbiterView, ticket: AttachmentTicket): TicketResult | undefined {
  const { volume, nodes } = view;
  const refuse = (reason: TicketResult["reason"], message: string): TicketResult => ({
    satisfied: false,
    reason,
    message,
  });
  if (volume.metadata.deletionTimestamp !== undefined) {
    return refuse("VolumeDeleting", "the volume is being deleted");
  }
  const node = nodes.get(ticket.nodeID);
  if (node === undefined) return refuse("NodeNotFound", `there is no node "${ticket.nodeID}"`);
  if (node.status?.state !== "Ready") {
    return refuse("NodeNotReady", `node "${ticket.nodeID}" is ${node.status?.state ?? "not ready yet"}`);
  }
  const unreachable = outOfReach(view, ticket.nodeID);
  if (unreachable !== undefined) return refuse("NodeUnreachable", unreachable);
  if (isFaulted(view) && !mayRepair(ticket)) {
    const { salvage, error } = volume.status ?? {};
    return refuse("VolumeFaulted", salvage?.message ?? error?.message ?? "the volume is faulted");
  }
  return undefined;
}

/** True while only tickets of repairs may have the volume. */
export function isFaulted({ volume }: ArbiterView): boolean {
  return isVolumeFaulted(volume);
}

/** A faulted volume is opened only to be repaired, and out of reach of workloads. */
export function mayRepair(ticket: AttachmentTicket): boolean {
  return ruleOf(ticket.type).repairs === true && parametersFit(ticket, true);
}

function outOfReach({ volume, sharedBy }: ArbiterView, nodeID: string): string | undefined {
  if (sharedBy !== undefined) {
    return sharedBy.includes(nodeID)
      ? undefined
      : `node "${nodeID}" does not have pool "${volume.spec.pool}" open`;
  }
  const owner = volume.status?.ownerID ?? "";
  return owner === "" || owner === nodeID ? undefined : `the volume's data is on node "${owner}"`;
}

/** The one thing that makes it safe to attach elsewhere without the node's own record: proof that it cannot write. */
export function isFenced(view: ArbiterView, nodeID: string): boolean {
  return isFencedNode(view.nodes.get(nodeID));
}
