import { type StepFailpoints, stepFailpoints } from "@mooring/store";
import type { AttachmentTicket } from "../../../api/attachment.ts";
import { addTicket, isSameRequest, removeTickets, type TicketRequest } from "../../../tickets/tickets.ts";
import type { ServicesContext } from "../context.ts";
import { ANYWHERE, type WantedTicket } from "./plan.ts";

/** Takes or releases one ticket. */
export type TicketStep =
  | { do: "take-ticket"; volume: string; ticket: TicketRequest }
  | { do: "release-ticket"; planned: WantedTicket };

/** The list of a service's ticket steps, for its failpoints. */
export const TICKET_STEPS = { "take-ticket": true, "release-ticket": true } as const;

/** The failpoints of a service, such as `engine/services/clone`, that writes nothing but tickets. */
export function ticketFailpoints(service: string): StepFailpoints<TicketStep> {
  return stepFailpoints<TicketStep>(service, TICKET_STEPS);
}

/** A ticket of the plan as it is now, and where one that may be anywhere can be. */
export interface TicketState {
  planned: WantedTicket;
  present: AttachmentTicket | undefined;
  /** Ready nodes that have the volume's pool open; only for tickets that may be anywhere. */
  able?: readonly string[];
}

/** The first write that brings what is there closer to the plan; undefined when it is as planned. Pure. */
export function nextTicketStep(tickets: readonly TicketState[]): TicketStep | undefined {
  for (const each of tickets) {
    const step = stepFor(each);
    if (step !== undefined) return step;
  }
  return undefined;
}

function stepFor({ planned, present, able = [] }: TicketState): TicketStep | undefined {
  const { type, volume, wanted } = planned;
  if (wanted === undefined) {
    // Only what is ours: an operator's ticket may have taken the id.
    return present?.type === type ? { do: "release-ticket", planned } : undefined;
  }
  // One that may be anywhere stays on the node that it names already, if it can.
  const nodeID =
    wanted.nodeID !== ANYWHERE ? wanted.nodeID : (able.find((node) => node === present?.nodeID) ?? able[0]);
  if (nodeID === undefined) return undefined;
  const ticket = { ...wanted, nodeID };
  return present !== undefined && isSameRequest(present, ticket)
    ? undefined
    : { do: "take-ticket", volume, ticket };
}

/** A volume that is gone has taken its tickets along. */
export async function applyTicketStep(
  { store, now, signal }: ServicesContext,
  step: TicketStep,
): Promise<void> {
  if (step.do === "release-ticket") {
    const { id, type, volume } = step.planned;
    await removeTickets(store, volume, (t) => t.id === id && t.type === type, signal);
    return;
  }
  await addTicket(store, step.volume, step.ticket, { now: now(), signal });
}
