import type { AttachmentTicket } from "../api/attachment.ts";
import { ruleOf, yieldsToWorkload } from "./attacher-types.ts";
import { ineligible, isFenced, parametersFit } from "./eligible.ts";
import { judge } from "./judge.ts";
import { type ArbiterView, type Decision, type Placement, placementOf, ticketsOf } from "./view.ts";

const DETACHED: Placement = { nodeID: "", disableFrontend: false, lastAttachedBy: "" };

/**
 * Who may hold the volume, and what every ticket is told. Pure: the same view always gives the same decision, in
 * whatever order the tickets were added, and a second decision after the first was applied changes nothing.
 */
export function decide(view: ArbiterView): Decision {
  const remove = endedTickets(view);
  const live = ticketsOf(view.attachment).filter((ticket) => !Object.hasOwn(remove, ticket.id));
  const holders = claimants(view, live);
  const placement = nextPlacement(view, holders);
  const verdicts = judge(view, live, holders, placement ?? placementOf(view.volume));
  const decision: Decision = { remove, number: unnumbered(view, live), verdicts };
  return placement === undefined ? decision : { ...decision, placement };
}

function endedTickets(view: ArbiterView): Decision["remove"] {
  const remove: Decision["remove"] = {};
  for (const ticket of ticketsOf(view.attachment)) {
    if (view.ownersGone.has(ticket.id)) remove[ticket.id] = "OwnerGone";
    else if (ticket.expiresAt !== undefined && Date.parse(ticket.expiresAt) <= view.now.getTime()) {
      remove[ticket.id] = "Expired";
    }
  }
  return remove;
}

/** A shared volume is held by its share manager; the workloads' own tickets only say that a share is wanted. */
export function claimants(view: ArbiterView, live: readonly AttachmentTicket[]): AttachmentTicket[] {
  const { accessMode, migratable } = view.volume.spec;
  const shared =
    accessMode === "rwx" && migratable !== true && live.some((t) => t.type === "share-manager-controller");
  return shared ? live.filter((ticket) => ticket.type !== "csi-attacher") : [...live];
}

function nextPlacement(view: ArbiterView, tickets: readonly AttachmentTicket[]): Placement | undefined {
  const { nodeID } = placementOf(view.volume);
  if (nodeID !== "") return mustDetach(view, tickets) ? DETACHED : undefined;
  const { state, currentNodeID = "" } = view.volume.status ?? {};
  // A volume that is still closing somewhere has no node in its spec either: only a finished detach counts.
  if (state !== "detached" || currentNodeID !== "") return undefined;
  const winner = pick(view, tickets);
  return winner === undefined ? undefined : placementFor(winner);
}

function placementFor(ticket: AttachmentTicket): Placement {
  return {
    nodeID: ticket.nodeID,
    disableFrontend: ticket.parameters?.disableFrontend === "true",
    lastAttachedBy: ticket.parameters?.lastAttachedBy ?? "",
  };
}

/** Eligible, then the highest priority, then the shorter id, then the first in code point order. */
export function pick(view: ArbiterView, tickets: readonly AttachmentTicket[]): AttachmentTicket | undefined {
  const eligible = tickets.filter((ticket) => ineligible(view, ticket) === undefined);
  return eligible.sort(
    (a, b) =>
      ruleOf(b.type).priority - ruleOf(a.type).priority ||
      a.id.length - b.id.length ||
      (a.id < b.id ? -1 : Number(a.id > b.id)),
  )[0];
}

function mustDetach(view: ArbiterView, tickets: readonly AttachmentTicket[]): boolean {
  const { nodeID, disableFrontend } = placementOf(view.volume);
  if (view.volume.status?.robustness === "faulted") return true;
  const current = tickets.filter((t) => t.nodeID === nodeID && parametersFit(t, disableFrontend));
  if (current.length === 0) return true;
  const waiting = tickets.filter((t) => t.nodeID !== nodeID && ineligible(view, t) === undefined);
  if (isFenced(view, nodeID) && waiting.length > 0) return true;
  return current.every(yieldsToWorkload) && waiting.some((ticket) => ruleOf(ticket.type).workload);
}

/**
 * `metadata.generation` is the counter: it grows with every change of the spec and never goes back, also not when
 * the ticket with the highest number leaves. Ticket helpers use it when they write; a ticket written by hand gets
 * its number here.
 */
function unnumbered(view: ArbiterView, live: readonly AttachmentTicket[]): Record<string, number> {
  const next = (view.attachment.metadata.generation ?? 0) + 1;
  const numbers: Record<string, number> = {};
  for (const ticket of live) {
    const { generation } = ticket;
    if (generation === undefined || generation < 1 || generation > next) numbers[ticket.id] = next;
  }
  return numbers;
}
