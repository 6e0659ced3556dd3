import { getIfAny, isDeleting, type Reader, source } from "@mooring/store";
import { Snapshots } from "../../../api/snapshot.ts";
import { Volumes } from "../../../api/volume.ts";
import type { ServicesContext } from "../context.ts";
import type { TicketPlan } from "../tickets/plan.ts";
import { runTicketService } from "../tickets/run-ticket-service.ts";
import { ticketFailpoints } from "../tickets/steps.ts";
import { decide } from "./decide.ts";

const failpoints = ticketFailpoints("engine/services/snapshot");

/** Gives every snapshot that has to be made a ticket of its volume, and takes it back when it is made. */
export function runSnapshotTickets(context: ServicesContext): Promise<void> {
  const { snapshots } = context.informers;
  return runTicketService(context, {
    name: "snapshot-tickets",
    failpoints,
    sources: [source(snapshots, ({ metadata }) => [metadata.name])],
    plan: (name, reader) => plan(context, reader, name),
  });
}

async function plan(
  { now, signal }: ServicesContext,
  { store }: Reader,
  name: string,
): Promise<TicketPlan | undefined> {
  // Read anew: a cache that lags behind would give a ticket to a snapshot that is made already.
  const snapshot = await getIfAny(store, Snapshots, { name }, signal);
  // The arbiter removes the ticket of a snapshot that is gone.
  if (snapshot === undefined) return undefined;
  // What is made, or going, needs the volume no more, and is not to be woken by it.
  const over = isDeleting(snapshot) || snapshot.status?.creationTime !== undefined;
  const volume = over ? undefined : await getIfAny(store, Volumes, { name: snapshot.spec.volume }, signal);
  return decide({ snapshot, volume, now: now() });
}
