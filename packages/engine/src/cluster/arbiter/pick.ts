import type { AttachmentTicket } from "../../api/attachment.ts";
import { isServed } from "../../api/volume.ts";
import { ruleOf } from "../../tickets/attacher-types.ts";
import { keptOpenOn } from "../../tickets/exposure.ts";
import { wantsDevice } from "../../tickets/frontend.ts";
import { ineligible, isFaulted } from "./eligible.ts";
import { isContested } from "./migration/contested.ts";
import type { ArbiterView } from "./view.ts";

/** A shared volume is attached for its share manager; the workloads' own tickets only show that a share is wanted. */
export function claimants(view: ArbiterView, live: readonly AttachmentTicket[]): AttachmentTicket[] {
  return isServed(view.volume) ? live.filter((ticket) => ticket.type !== "csi-attacher") : [...live];
}

/** The one that gets a detached volume next; undefined when none can, or two want it on two nodes at once. */
export function pick(view: ArbiterView, tickets: readonly AttachmentTicket[]): AttachmentTicket | undefined {
  return uncontested(view, foremost(view, tickets), tickets);
}

/**
 * The workload that gets a volume back whose device is still open on its node, from before: no other node can have it until
 * those who use it there end, and they may only end with this workload. One that wants no device could not have it either.
 */
export function pickWhereOpen(
  view: ArbiterView,
  tickets: readonly AttachmentTicket[],
): AttachmentTicket | undefined {
  const nodeID = keptOpenOn(view.volume);
  if (nodeID === undefined || isFaulted(view)) return undefined;
  const here = tickets.filter((t) => t.nodeID === nodeID && ruleOf(t.type).workload && wantsDevice(t));
  return uncontested(view, foremost(view, here), tickets);
}

function uncontested(
  view: ArbiterView,
  winner: AttachmentTicket | undefined,
  tickets: readonly AttachmentTicket[],
): AttachmentTicket | undefined {
  return winner !== undefined && isContested(view, winner, tickets) ? undefined : winner;
}

/** Eligible, then the highest priority, then the oldest, then the shorter id, then the first in code point order. */
export function foremost(
  view: ArbiterView,
  tickets: readonly AttachmentTicket[],
): AttachmentTicket | undefined {
  const eligible = tickets.filter((ticket) => ineligible(view, ticket) === undefined);
  return eligible.sort(
    (a, b) =>
      ruleOf(b.type).priority - ruleOf(a.type).priority ||
      secondOf(a) - secondOf(b) ||
      a.id.length - b.id.length ||
      (a.id < b.id ? -1 : Number(a.id > b.id)),
  )[0];
}

/**
 * Whose turn it is among equals is a matter of age, or a stream of new tickets with short names would keep a long one
 * waiting for ever. Counted in seconds, as Kubernetes does; a ticket without the time at which it was made is the newest.
 */
function secondOf({ createdAt = "" }: AttachmentTicket): number {
  const made = Math.floor(Date.parse(createdAt) / 1000);
  return Number.isNaN(made) ? Number.MAX_SAFE_INTEGER : made;
}
