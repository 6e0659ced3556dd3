import type { ServicesContext } from "../context.ts";
import { runVolumeTickets } from "../tickets/run-volume-tickets.ts";
import { ticketFailpoints } from "../tickets/steps.ts";
import { decide } from "./decide.ts";

const failpoints = ticketFailpoints("engine/services/salvage");

/** Asks with tickets for faulted volumes, for their repair; the node's agent finds the fault and repairs it. */
export const runSalvages = (context: ServicesContext): Promise<void> =>
  runVolumeTickets(context, { name: "salvage", failpoints, decide });
