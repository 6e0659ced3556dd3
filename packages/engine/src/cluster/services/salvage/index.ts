import { getIfAny, source } from "@mooring/store";
import { Volumes } from "../../../api/volume.ts";
import type { ServicesContext } from "../context.ts";
import { runTicketService } from "../tickets/run-ticket-service.ts";
import { ticketFailpoints } from "../tickets/steps.ts";
import { decide } from "./decide.ts";

const failpoints = ticketFailpoints("engine/services/salvage");

/** Asks with tickets for faulted volumes, for their repair; the node's agent finds the fault and repairs it. */
export function runSalvages(context: ServicesContext): Promise<void> {
  const { informers, now, signal } = context;
  return runTicketService(context, {
    name: "salvage",
    failpoints,
    sources: [source(informers.volumes, ({ metadata }) => [metadata.name])],
    async plan(name, { store }) {
      const volume = await getIfAny(store, Volumes, { name }, signal);
      // The tickets of a volume that is gone went with it.
      return volume === undefined ? undefined : decide(volume, now());
    },
  });
}
