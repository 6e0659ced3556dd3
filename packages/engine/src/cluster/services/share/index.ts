import { failpoint, getIfAny, runController, source, WorkQueue } from "@mooring/store";
import { isShared, poolNodes } from "../../../api/pool.ts";
import { isServed, type Volume, Volumes } from "../../../api/volume.ts";
import { getAttachment } from "../../../tickets/attachment-object.ts";
import { ticketsOf } from "../../../tickets/tickets-of.ts";
import type { ServicesContext } from "../context.ts";
import { syncTickets } from "../tickets/sync-tickets.ts";
import { Absences } from "./absences.ts";
import { recordShare, removeShare } from "./apply.ts";
import { decide, type ShareView } from "./decide.ts";

const gaps = {
  taken: failpoint("engine/services/share/ticket-taken"),
  released: failpoint("engine/services/share/ticket-released"),
};

/** Gives every volume that many nodes use a node that serves it, and holds it there while anybody uses it. */
export function runShares(context: ServicesContext): Promise<void> {
  const { volumes, attachments, shares, nodes } = context.informers;
  const queue = new WorkQueue({ maxMs: 10_000 });
  const absences = new Absences(() => performance.now());
  // Heartbeats change agents all the time; only a change of state can change who serves.
  nodes.onChange((old, agent) => {
    if (old?.status?.state === agent?.status?.state) return;
    for (const volume of volumes.list()) if (isServed(volume)) queue.add(volume.metadata.name);
  });
  return runController(
    {
      name: "share",
      logger: context.logger,
      queue,
      sources: [
        source(volumes, (volume) => (isServed(volume) ? [volume.metadata.name] : [])),
        source(attachments, ({ metadata: { name } }) => (needsShare(volumes.get(name)) ? [name] : [])),
        source(shares, ({ metadata }) => [metadata.name]),
        source(nodes, () => []),
      ],
      reconcile: (name) => reconcileShare(context, absences, name),
    },
    context.signal,
  );
}

/** What is not known yet may be one. */
function needsShare(volume: Volume | undefined): boolean {
  return volume === undefined || isServed(volume);
}

async function reconcileShare(
  context: ServicesContext,
  absences: Absences,
  name: string,
): Promise<{ requeueAfterMs?: number }> {
  const view = await read(context, absences, name);
  if (view === undefined) {
    await removeShare(context, name);
    return {};
  }
  const plan = decide(view);
  if (plan.share !== undefined) await recordShare(context, view.volume, plan.share);
  return syncTickets(context, plan, gaps);
}

async function read(
  { store, informers, signal }: ServicesContext,
  absences: Absences,
  name: string,
): Promise<ShareView | undefined> {
  const volume = await getIfAny(store, Volumes, { name }, signal);
  if (volume === undefined) return undefined;
  const attachment = await getAttachment(store, name, signal);
  const tickets = attachment === undefined ? [] : ticketsOf(attachment);
  const nodes = new Map(informers.nodes.list().map((agent) => [agent.metadata.name, agent]));
  const pool = informers.pools.get(volume.spec.pool);
  const sharedBy = pool !== undefined && isShared(pool) ? { sharedBy: poolNodes(pool) } : {};
  const vanished = absences.look([...(pool?.status?.nodes ?? []), ...tickets.map((t) => t.nodeID)], nodes);
  return { volume, tickets, nodes, vanished, ...sharedBy };
}
