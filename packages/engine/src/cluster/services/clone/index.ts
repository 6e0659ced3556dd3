import { source } from "@mooring/store";
import type { ServicesContext } from "../context.ts";
import { runTicketService } from "../tickets/run-ticket-service.ts";
import { ticketFailpoints } from "../tickets/steps.ts";
import { decide } from "./decide.ts";
import { readClone } from "./read.ts";

const failpoints = ticketFailpoints("engine/services/clone");

/** Asks with tickets for the two volumes of every copy that is being made; the node's agent copies. */
export function runClones(context: ServicesContext): Promise<void> {
  const { informers, signal } = context;
  return runTicketService(context, {
    name: "clone",
    failpoints,
    sources: [
      source(informers.volumes, ({ metadata, spec }) =>
        spec.source?.kind === "Volume" ? [metadata.name] : [],
      ),
    ],
    async plan(name, { store }) {
      const view = await readClone(store, name, signal);
      return view && decide(view);
    },
  });
}
