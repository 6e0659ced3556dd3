import { getIfAny, type StepFailpoints, source } from "@mooring/store";
import { type Volume, Volumes } from "../../../api/volume.ts";
import type { ServicesContext } from "../context.ts";
import type { TicketPlan } from "./plan.ts";
import { runTicketService } from "./run-ticket-service.ts";
import type { TicketStep } from "./steps.ts";

interface VolumeService {
  name: string;
  failpoints: StepFailpoints<TicketStep>;
  decide(volume: Volume, now: Date): TicketPlan;
}

/** A data service that decides from a volume alone whether it has a ticket for it. */
export function runVolumeTickets(
  context: ServicesContext,
  { name, failpoints, decide }: VolumeService,
): Promise<void> {
  const { informers, now, signal } = context;
  return runTicketService(context, {
    ...{ name, failpoints },
    sources: [source(informers.volumes, ({ metadata }) => [metadata.name])],
    async plan(key, { store }) {
      const volume = await getIfAny(store, Volumes, { name: key }, signal);
      // The tickets of a volume that is gone went with it.
      return volume === undefined ? undefined : decide(volume, now());
    },
  });
}
