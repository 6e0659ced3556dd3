import { source } from "@mooring/store";
import type { ServicesContext } from "../context.ts";
import { runTicketService } from "../tickets/run-ticket-service.ts";
import { ticketFailpoints } from "../tickets/steps.ts";
import { decide } from "./decide.ts";
import { readSnapshot } from "./read.ts";

const failpoints = ticketFailpoints("engine/services/snapshot");

/** Gives every snapshot that has to be made a ticket of its volume, and takes it back when it is made. */
export function runAttachForSnapshot(context: ServicesContext): Promise<void> {
  const { snapshots } = context.informers;
  return runTicketService(context, {
    name: "attach-for-snapshot",
    failpoints,
    sources: [source(snapshots, ({ metadata }) => [metadata.name])],
    async plan(name, { store }) {
      const view = await readSnapshot(context, store, name);
      return view && decide(view);
    },
  });
}
