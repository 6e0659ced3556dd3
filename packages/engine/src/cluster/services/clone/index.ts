import { getIfAny, source } from "@mooring/store";
import { Volumes } from "../../../api/volume.ts";
import type { ServicesContext } from "../context.ts";
import { runTicketService } from "../tickets/run-ticket-service.ts";
import { ticketFailpoints } from "../tickets/steps.ts";
import { decide } from "./decide.ts";

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
      const target = await getIfAny(store, Volumes, { name }, signal);
      const from = target?.spec.source;
      if (target === undefined || from?.kind !== "Volume") return undefined;
      // A copy that is made needs its source no more, and is not to be woken by it.
      const made = target.status?.size !== undefined;
      const origin = made ? undefined : await getIfAny(store, Volumes, { name: from.name }, signal);
      return decide({ target, source: origin });
    },
  });
}
