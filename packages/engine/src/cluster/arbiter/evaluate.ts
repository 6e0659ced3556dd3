import type { AttachmentTicket } from "../../api/attachment.ts";
import { isLostNode } from "../../api/node-agent.ts";
import { refusalOf } from "../../api/share-manager.ts";
import { yieldsToWorkload } from "../../tickets/attacher-types.ts";
import { keptOpenOn } from "../../tickets/exposure.ts";
import { parametersFit } from "../../tickets/frontend.ts";
import type { TicketReason, TicketResult } from "../../tickets/result.ts";
import { SHARE_TYPE } from "../../tickets/share-ticket.ts";
import { ineligible, isFaulted, isFenced, mayRepair } from "./eligible.ts";
import { evaluateMigration } from "./migration/evaluate.ts";
import { pick } from "./pick.ts";
import { type ArbiterView, type Placement, placementOf } from "./view.ts";
import { SHUT_OUT_BY_CLUSTER } from "./waits.ts";

const waiting = (reason: TicketReason, message: string): TicketResult => ({
  satisfied: false,
  reason,
  message,
});

/**
 * The result of every ticket, given where the volume will be after this decision. `satisfied` needs the placement, the
 * node's own record (`status`) and fitting parameters: in the pass that starts a detach no ticket is satisfied any more.
 */
export function evaluate(
  view: ArbiterView,
  live: readonly AttachmentTicket[],
  candidates: readonly AttachmentTicket[],
  placement: Placement,
): Record<string, TicketResult> {
  const results: Record<string, TicketResult> = {};
  for (const ticket of live) {
    results[ticket.id] = candidates.includes(ticket)
      ? evaluateCandidate(view, ticket, candidates, placement)
      : evaluateShared(view, ticket, candidates, placement);
  }
  return results;
}

/** The serving node has the file system itself; others need to know where it is served. */
function evaluateShared(
  view: ArbiterView,
  ticket: AttachmentTicket,
  candidates: readonly AttachmentTicket[],
  placement: Placement,
): TicketResult {
  const manager = candidates.find((ticket) => ticket.type === SHARE_TYPE);
  if (manager === undefined) return waiting("ShareNotReady", "the volume's share has no node yet");
  const placed = evaluateCandidate(view, manager, candidates, placement);
  if (!placed.satisfied) return waiting("ShareNotReady", placed.message);
  const { state = "stopped", nodeID, endpoint = "", users, error } = view.share?.status ?? {};
  const here = nodeID === manager.nodeID;
  if (here && state === "running") {
    const local = ticket.nodeID === manager.nodeID;
    const message = `the volume is ${local ? "on" : "shared from"} node "${manager.nodeID}"`;
    if (local) return { satisfied: true, reason: "Attached", message };
    const refusal = refusalOf(view.share, ticket.nodeID);
    if (refusal !== undefined) return waiting("NetworkNotTrusted", refusal.message);
    const letIn = users === undefined || users.includes(ticket.nodeID);
    if (endpoint !== "" && letIn)
      return { satisfied: true, reason: "Attached", message: `${message} at ${endpoint}` };
  }
  const why = here && error !== undefined ? `: ${error.code}: ${error.message}` : "";
  return waiting("ShareNotReady", `node "${manager.nodeID}" is starting the volume's share${why}`);
}

function evaluateCandidate(
  view: ArbiterView,
  ticket: AttachmentTicket,
  candidates: readonly AttachmentTicket[],
  placement: Placement,
): TicketResult {
  const moving = evaluateMigration(view, ticket, candidates, placement);
  if (moving !== undefined) return moving;
  const kept = placement.nodeID === ticket.nodeID && (!isFaulted(view) || mayRepair(ticket));
  if (kept) return evaluateHere(view, ticket, candidates, placement);
  const refused = ineligible(view, ticket);
  if (refused !== undefined) return refused;
  if (placement.nodeID === "") return evaluateDetached(view, ticket, candidates);
  return evaluateElsewhere(view, candidates, placement);
}

function evaluateHere(
  view: ArbiterView,
  ticket: AttachmentTicket,
  candidates: readonly AttachmentTicket[],
  placement: Placement,
): TicketResult {
  const { nodeID, disableFrontend } = placement;
  if (!parametersFit(ticket, disableFrontend)) {
    const keepers = keepersOf(candidates, placement);
    // One that would be content with both is not what this ticket waits for.
    const other = keepers.find((t) => !parametersFit(t, !disableFrontend)) ?? keepers[0];
    const mode = disableFrontend ? "without its device" : "with its device";
    return waiting("AttachedWithIncompatibleParameters", `the volume is attached ${mode}${by(other)}`);
  }
  const { state, currentNodeID, frontendDisabled = disableFrontend, error } = view.volume.status ?? {};
  const node = nodeState(view, nodeID);
  if (isFenced(view, nodeID)) return waiting("NodeNotReady", `node "${nodeID}" is ${node}`);
  // A device that is being shown is there when the spec, the agent and this decision agree.
  const modes = [frontendDisabled, placementOf(view.volume).disableFrontend];
  const there = state === "attached" && currentNodeID === nodeID;
  if (there && modes.every((mode) => parametersFit(ticket, mode))) {
    return { satisfied: true, reason: "Attached", message: `attached to node "${nodeID}"` };
  }
  if (node !== "Ready") {
    return waiting("NodeNotReady", `node "${nodeID}" is ${node}, but it has to open the volume`);
  }
  const why = error === undefined ? "" : `: ${error.code}: ${error.message}`;
  return waiting("Attaching", `node "${nodeID}" is opening the volume (${state ?? "new"})${why}`);
}

/** No node has the volume, or it was taken away a moment ago. */
function evaluateDetached(
  view: ArbiterView,
  ticket: AttachmentTicket,
  candidates: readonly AttachmentTicket[],
): TicketResult {
  const { state = "creating", currentNodeID = "", error } = view.volume.status ?? {};
  if (state === "creating") {
    return waiting("VolumeNotReady", error?.message ?? "the volume is still being created");
  }
  const next = pick(view, candidates);
  const whom = next === undefined || next.id === ticket.id ? "" : `, for ticket "${next.id}" (${next.type})`;
  // What its agent has found when it closed the device, and what ends it.
  const why = keptOpenOn(view.volume) === undefined ? "" : `: ${error?.message}`;
  if (currentNodeID === ticket.nodeID) {
    return waiting("Detaching", `the volume is being detached from this node first${whom}${why}`);
  }
  if (currentNodeID === "") return waiting("WaitingDetach", `the volume is ${state}${whom}`);
  return (
    unfenced(view, currentNodeID, "") ??
    waiting("WaitingDetach", `the volume is being detached from node "${currentNodeID}"${whom}${why}`)
  );
}

function evaluateElsewhere(
  view: ArbiterView,
  candidates: readonly AttachmentTicket[],
  placement: Placement,
): TicketResult {
  const keepers = keepersOf(candidates, placement);
  const blocking = keepers.find((ticket) => !yieldsToWorkload(ticket)) ?? keepers[0];
  const silent = unfenced(view, placement.nodeID, by(blocking));
  if (silent !== undefined) return silent;
  const reason =
    blocking !== undefined && yieldsToWorkload(blocking) ? "WaitingTurn" : "BlockedByUninterruptible";
  return waiting(reason, `the volume is held on node "${placement.nodeID}"${by(blocking)}`);
}

/** A node that does not respond may still write, so only proof that it cannot ends the wait. */
function unfenced(view: ArbiterView, nodeID: string, ticket: string): TicketResult | undefined {
  const state = nodeState(view, nodeID);
  if (state === "Ready" || isFenced(view, nodeID)) return undefined;
  const node = view.nodes.get(nodeID);
  const byCluster = view.shutsOut === true && node !== undefined && isLostNode(node);
  const end = byCluster
    ? `${SHUT_OUT_BY_CLUSTER}, which an event NodeShutOut of the volume then says`
    : "fence the node to move it";
  return waiting(
    "NodeUnfenced",
    `the volume is held${ticket} on node "${nodeID}", which is ${state}: ${end}`,
  );
}

/** The tickets that keep the volume where, and as, it is. */
function keepersOf(candidates: readonly AttachmentTicket[], placement: Placement): AttachmentTicket[] {
  const { nodeID, disableFrontend } = placement;
  return candidates.filter((t) => t.nodeID === nodeID && parametersFit(t, disableFrontend));
}

function by(ticket: AttachmentTicket | undefined): string {
  return ticket === undefined ? "" : ` by ticket "${ticket.id}" (${ticket.type})`;
}

function nodeState(view: ArbiterView, nodeID: string): string {
  return view.nodes.get(nodeID)?.status?.state ?? "unknown";
}
