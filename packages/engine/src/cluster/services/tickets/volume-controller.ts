import { getIfAny, runController, source, WorkQueue } from "@mooring/store";
import { type Volume, Volumes } from "../../../api/volume.ts";
import type { ServicesContext } from "../context.ts";
import type { TicketPlan } from "./plan.ts";
import { syncTickets, type TicketFailpoints } from "./sync-tickets.ts";

export interface VolumeService {
  name: string;
  gaps: TicketFailpoints;
  /** Reads what the decision needs, decides, and may write what is not a ticket. */
  plan(context: ServicesContext, volume: Volume): Promise<TicketPlan>;
  /** Other objects whose change means work, as names of volumes. */
  sources?: Parameters<typeof runController>[0]["sources"];
}

/** A data service whose unit of work is a volume: looked at whenever the volume or its tickets change. */
export function runVolumeService(context: ServicesContext, service: VolumeService): Promise<void> {
  const { volumes, attachments } = context.informers;
  return runController(
    {
      name: service.name,
      logger: context.logger,
      queue: new WorkQueue({ maxMs: 10_000 }),
      sources: [
        source(volumes, ({ metadata }) => [metadata.name]),
        source(attachments, ({ metadata }) => [metadata.name]),
        ...(service.sources ?? []),
      ],
      reconcile: async (name) => {
        const volume = await getIfAny(context.store, Volumes, { name }, context.signal);
        // The tickets of a volume that is gone went with it.
        if (volume === undefined) return {};
        return syncTickets(context, await service.plan(context, volume), service.gaps);
      },
    },
    context.signal,
  );
}
