import type { ServicesContext } from "../context.ts";
import { runVolumeTickets } from "../tickets/run-volume-tickets.ts";
import { ticketFailpoints } from "../tickets/steps.ts";
import { decide } from "./decide.ts";

const failpoints = ticketFailpoints("engine/services/expansion");

/** Asks with a ticket for volumes whose file system has to grow while no workload uses it; the node's agent grows it. */
export const runExpansions = (context: ServicesContext): Promise<void> =>
  runVolumeTickets(context, { name: "expansion", failpoints, decide });
