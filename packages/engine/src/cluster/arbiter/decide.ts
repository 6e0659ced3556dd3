import type { AttachmentTicket, VolumeAttachment } from "../../api/attachment.ts";
import { ruleOf, yieldsToWorkload } from "../../tickets/attacher-types.ts";
import { isEvaluated, lastNumber } from "../../tickets/digest.ts";
import { indifferent, parametersFit, wantsDevice } from "../../tickets/frontend.ts";
import { ticketsOf } from "../../tickets/tickets-of.ts";
import { ineligible, isFaulted, isFenced, mayRepair } from "./eligible.ts";
import { evaluate } from "./evaluate.ts";
import { backoffResults, flapsOf } from "./flaps.ts";
import { confirmed, nextTarget } from "./migration/decide.ts";
import { claimants, pick, pickWhereOpen } from "./pick.ts";
import { repair } from "./repair.ts";
import { type ArbiterView, type Decision, type Placement, placementOf } from "./view.ts";

const DETACHED: Placement = { nodeID: "", disableFrontend: false, lastAttachedBy: "" };

/**
 * Decides which node and which tickets may have the volume, and the result of every ticket. Pure: the same view always
 * gives the same decision, in whatever order the tickets were added, and a second decision after the first was applied
 * changes nothing.
 */
export function decide(view: ArbiterView): Decision {
  const repaired = repair(view);
  const remove = endedTickets(view, repaired.own);
  const live = ticketsOf(view.attachment).filter((ticket) => !Object.hasOwn(remove, ticket.id));
  const candidates = claimants(view, live);
  const wished = nextPlacement(view, candidates);
  const flaps = flapsOf(view, live, wished);
  const placement = flaps.backoffUntil === undefined ? wished : undefined;
  const number = unnumbered(view, live);
  const results = evaluate(view, live, candidates, placement ?? placementOf(view.volume));
  const all = { ...results, ...backoffResults(view, candidates, flaps), ...notEvaluated(remove, number) };
  const decision: Decision = { repair: repaired, remove, number, flaps, results: all };
  return placement === undefined ? decision : { ...decision, placement };
}

function endedTickets(view: ArbiterView, own: Decision["repair"]["own"]): Decision["remove"] {
  const remove: Decision["remove"] = {};
  for (const ticket of ticketsOf(view.attachment)) {
    if (view.ownersGone.has(ticket.id) && !Object.hasOwn(own, ticket.id)) remove[ticket.id] = "OwnerGone";
    else if (ticket.expiresAt !== undefined && Date.parse(ticket.expiresAt) <= view.now.getTime()) {
      remove[ticket.id] = "Expired";
    }
  }
  return remove;
}

const ENDED: Readonly<Record<"Expired" | "OwnerGone", string>> = {
  Expired: "the ticket's time is over",
  OwnerGone: "the object that the ticket was for does not exist any more",
};

/** A result belongs to a generation: tickets that end or have no number yet are satisfied in no case. */
function notEvaluated(remove: Decision["remove"], number: Decision["number"]): Decision["results"] {
  const results: Decision["results"] = {};
  for (const id of Object.keys(number)) {
    const message = "the ticket gets its number first";
    results[id] = { satisfied: false, reason: "GenerationPending", message };
  }
  for (const [id, reason] of Object.entries(remove)) {
    results[id] = { satisfied: false, reason, message: ENDED[reason] };
  }
  return results;
}

function nextPlacement(view: ArbiterView, tickets: readonly AttachmentTicket[]): Placement | undefined {
  const { nodeID } = placementOf(view.volume);
  if (nodeID !== "") {
    const moved = confirmed(view, tickets);
    if (moved !== undefined) return moved;
    if (mustDetach(view, tickets)) return DETACHED;
    return nextTarget(view, tickets) ?? switchedFrontend(view, tickets);
  }
  // A volume that is still closing somewhere has no node in its spec either: for another node only a finished detach counts.
  const winner = isDetached(view) ? pick(view, tickets) : pickWhereOpen(view, tickets);
  return winner === undefined ? undefined : placementFor(view, winner, tickets);
}

function isDetached({ volume }: ArbiterView): boolean {
  const { state, currentNodeID = "", currentMigrationNodeID = "" } = volume.status ?? {};
  return state === "detached" && currentNodeID === "" && currentMigrationNodeID === "";
}

function placementFor(
  view: ArbiterView,
  ticket: AttachmentTicket,
  tickets: readonly AttachmentTicket[],
): Placement {
  const { nodeID, parameters } = ticket;
  const hidden = indifferent(ticket) ? !deviceWanted(nodeID, tickets) : parametersFit(ticket, true);
  return {
    nodeID,
    disableFrontend: hidden || isFaulted(view),
    lastAttachedBy: parameters?.lastAttachedBy ?? "",
  };
}

/** Workloads see a device only where a ticket asked for it: a job that needs none keeps it out of their reach. */
function deviceWanted(nodeID: string, tickets: readonly AttachmentTicket[]): boolean {
  return tickets.some((t) => t.nodeID === nodeID && wantsDevice(t));
}

/**
 * The device is shown and hidden without a detach when all that have the volume are content with both: a job goes on
 * while a workload comes or leaves, and an unpublish need not wait for the job.
 */
function switchedFrontend(view: ArbiterView, tickets: readonly AttachmentTicket[]): Placement | undefined {
  const present = placementOf(view.volume);
  const { nodeID, disableFrontend, migrationNodeID = "" } = present;
  // The target was promised a device: it is not hidden from it because the source has no workload any more.
  if (migrationNodeID !== "") return undefined;
  const here = tickets.filter((t) => t.nodeID === nodeID);
  if (isFaulted(view) || here.some((t) => parametersFit(t, disableFrontend) && !indifferent(t)))
    return undefined;
  const wanting = here.find(wantsDevice);
  const hidden = wanting === undefined;
  if (hidden === disableFrontend) return undefined;
  // Whose device it is, should everything else that records it be lost.
  return { ...present, disableFrontend: hidden, lastAttachedBy: wanting?.parameters?.lastAttachedBy ?? "" };
}

function mustDetach(view: ArbiterView, tickets: readonly AttachmentTicket[]): boolean {
  const { nodeID, disableFrontend } = placementOf(view.volume);
  const current = tickets.filter((t) => t.nodeID === nodeID && parametersFit(t, disableFrontend));
  if (isFaulted(view)) return !disableFrontend || !current.some(mayRepair);
  if (current.length === 0) return true;
  // Where all are content with both, a ticket for this node needs no detach: see switchedFrontend.
  const served = current.every(indifferent) ? nodeID : undefined;
  const waiting = tickets.filter(
    (t) => !current.includes(t) && t.nodeID !== served && ineligible(view, t) === undefined,
  );
  if (waiting.length > 0 && mayLeave(view, nodeID)) return true;
  // The workload is of higher priority than all that yield, so it, or one above it, is picked next: no way back.
  return current.every(yieldsToWorkload) && waiting.some((ticket) => ruleOf(ticket.type).workload);
}

/**
 * The node cannot write any more, or is silent and has not begun: an agent records `attaching` before it opens the
 * device, and that write is refused once the spec has changed.
 */
function mayLeave(view: ArbiterView, nodeID: string): boolean {
  const ready = view.nodes.get(nodeID)?.status?.state === "Ready";
  return isFenced(view, nodeID) || (!ready && isDetached(view));
}

/**
 * `metadata.generation` is the counter: it grows with every change of the spec and never goes back, also not when
 * the ticket with the highest number leaves. Ticket helpers use it when they write; a ticket written or edited by hand
 * gets its number here.
 */
function unnumbered(view: ArbiterView, live: readonly AttachmentTicket[]): Record<string, number> {
  const next = (view.attachment.metadata.generation ?? 0) + 1;
  const numbers: Record<string, number> = {};
  for (const ticket of live) {
    if (!isNumbered(view.attachment, ticket)) numbers[ticket.id] = next;
  }
  return numbers;
}

/**
 * The ticket's number stands for this request and no other: it is the one that was evaluated, or higher than all that ever
 * were.
 */
function isNumbered(attachment: VolumeAttachment, ticket: AttachmentTicket): boolean {
  const { id, generation = 0 } = ticket;
  if (generation < 1 || generation > (attachment.metadata.generation ?? 0) + 1) return false;
  const evaluated = attachment.status?.attachmentTicketStatuses?.[id]?.generation === generation;
  return evaluated ? isEvaluated(attachment, ticket) : generation > lastNumber(attachment);
}
