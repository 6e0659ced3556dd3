import { isDeepStrictEqual } from "node:util";
import type { AttachmentTicket } from "../../../api/attachment.ts";
import { isFencedNode, type NodeAgent } from "../../../api/node-agent.ts";
import type { ShareManager } from "../../../api/share-manager.ts";
import { isServed, type Volume } from "../../../api/volume.ts";
import { SHARE_TYPE, shareTicket } from "../../../tickets/share-ticket.ts";
import { noTicket, type TicketPlan, type WantedTicket } from "../tickets/plan.ts";

/**
 * Milliseconds until nodes are read again: where the service has no ticket, no ticket's result reports that a node has
 * become ready.
 */
const NODE_RETRY_MS = 2000;

interface ShareView {
  volume: Volume;
  tickets: readonly AttachmentTicket[];
  /** All nodes, by id. */
  nodes: ReadonlyMap<string, NodeAgent>;
  /** Nodes whose object has been away for so long that no agent of theirs is alive to write it again. */
  vanished?: ReadonlySet<string>;
  /** Nodes that can open the volume because its pool is shared; absent: only the one that has its data can. */
  sharedBy?: readonly string[];
}

/** What a shared volume needs: tickets, and what its ShareManager records. */
export interface SharePlan extends TicketPlan {
  /** What the ShareManager is to record; absent: the volume needs none. */
  share?: { nodeID: string; users: string[] };
}

/**
 * Decides which node serves a volume that many nodes use, and for which nodes. The device is on one node for as long as any
 * workload has a ticket, whichever workloads come and go: it moves only when that node can prove to be lost. Pure.
 */
export function decide(view: ShareView): SharePlan {
  const { volume, tickets } = view;
  const none = noTicket(volume.metadata.name, SHARE_TYPE, volume.metadata.name);
  if (!isServed(volume)) return { tickets: [none] };
  const workloads = tickets.filter(({ type }) => type === "csi-attacher");
  const users = [...new Set(workloads.map(({ nodeID }) => nodeID))].sort();
  if (users.length === 0) return { tickets: [none], share: { nodeID: "", users } };
  const nodeID = serverOf(view, tickets.find(({ id }) => id === none.id)?.nodeID, users);
  // Those who use it stay as they are until a node can serve it.
  if (nodeID === undefined) return { tickets: [], share: { nodeID: "", users }, afterMs: NODE_RETRY_MS };
  const plan = { tickets: [ticketOn(volume, nodeID)], share: { nodeID, users } };
  // Even when an operator has deleted its object: an agent that is alive writes it again at once.
  return view.nodes.has(nodeID) ? plan : { ...plan, afterMs: NODE_RETRY_MS };
}

/** One visible change of a ShareManager. */
export type ShareStep = { do: "record-share" } | { do: "remove-share" };

/** What to do with the ShareManager, before any ticket: it records which node serves which. Pure. */
export function nextShareStep({
  volume,
  manager,
  share,
}: Pick<SharePlan, "share"> & {
  volume: Volume | undefined;
  manager: ShareManager | undefined;
}): ShareStep | undefined {
  if (volume === undefined) return manager === undefined ? undefined : { do: "remove-share" };
  if (share === undefined) return undefined;
  // No node has used it yet: there is nothing to report.
  if (manager === undefined && share.users.length === 0) return undefined;
  const { nodeID, users } = share;
  return isDeepStrictEqual(manager?.spec, { nodeID, users }) ? undefined : { do: "record-share" };
}

function ticketOn(volume: Volume, nodeID: string): WantedTicket {
  const wanted = shareTicket(volume, nodeID);
  return { volume: volume.metadata.name, type: wanted.type, id: wanted.id, wanted };
}

/**
 * The node that serves it now, until that one is known to be unable to write; then one that is ready: the one that has
 * the device for another ticket already, then one with users. A node that is only silent may still serve.
 */
function serverOf(
  view: ShareView,
  present: string | undefined,
  users: readonly string[],
): string | undefined {
  const { volume, nodes, sharedBy, vanished } = view;
  const state = (node: string) => nodes.get(node)?.status?.state;
  const { ownerID = "" } = volume.status ?? {};
  if (sharedBy === undefined) return ownerID === "" ? present : ownerID;
  const { state: record, currentNodeID = "" } = volume.status ?? {};
  // By the record no node has it: its own agent has closed it, or was shut out of it, or has never opened it.
  const isClosed = record === "detached" && currentNodeID === "";
  const isSilent = (node: string) => nodes.has(node) && state(node) !== "Ready";
  const lost = (node: string) =>
    isFencedNode(nodes.get(node)) || vanished?.has(node) === true || (isClosed && isSilent(node));
  const ready = sharedBy.filter((node) => state(node) === "Ready").sort();
  const open = volume.status?.currentNodeID || volume.spec.nodeID;
  const next = ready.find((node) => node === open) ?? ready.find((node) => users.includes(node)) ?? ready[0];
  return present !== undefined && (!lost(present) || next === undefined) ? present : next;
}
