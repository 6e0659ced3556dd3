import { failpoint, isNotFound, runController, source, WorkQueue } from "@mooring/store";
import { Snapshots } from "../../../api/snapshot.ts";
import { Volumes } from "../../../api/volume.ts";
import type { ServicesContext } from "../context.ts";
import { syncTickets } from "../tickets/sync-tickets.ts";
import { decide } from "./decide.ts";

const gaps = {
  taken: failpoint("engine/services/snapshot/ticket-taken"),
  released: failpoint("engine/services/snapshot/ticket-released"),
};

/** Gives every snapshot that has to be cut a ticket of its volume, and takes it back when it is cut. */
export function runSnapshotTickets(context: ServicesContext): Promise<void> {
  const { snapshots, volumes, attachments } = context.informers;
  const uncut = (volume: string): string[] =>
    snapshots
      .byIndex("volume", volume)
      .filter(({ status }) => status?.creationTime === undefined)
      .map(({ metadata }) => metadata.name);
  return runController(
    {
      name: "snapshot-holds",
      logger: context.logger,
      queue: new WorkQueue({ maxMs: 10_000 }),
      sources: [
        source(snapshots, ({ metadata }) => [metadata.name]),
        source(volumes, ({ metadata }) => uncut(metadata.name)),
        // A ticket that somebody removed by hand comes back.
        source(attachments, ({ spec }) => uncut(spec.volume)),
      ],
      reconcile: (name) => reconcile(context, name),
    },
    context.signal,
  );
}

async function reconcile(context: ServicesContext, name: string): Promise<{ requeueAfterMs?: number }> {
  const { store, now, signal } = context;
  const gone = (error: unknown): undefined => {
    if (!isNotFound(error)) throw error;
  };
  // Read anew: a cache that lags behind would give a ticket to a snapshot that is cut already.
  const snapshot = await store.get(Snapshots, { name }, signal).catch(gone);
  // The arbiter removes the ticket of a snapshot that is gone.
  if (snapshot === undefined) return {};
  const volume = await store.get(Volumes, { name: snapshot.spec.volume }, signal).catch(gone);
  return syncTickets(context, decide({ snapshot, volume, now: now() }), gaps);
}
