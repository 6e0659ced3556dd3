import { isNotFound, listAll } from "@mooring/store";
import type { AttachmentTicket } from "../../../api/attachment.ts";
import { NodeAgents } from "../../../api/node-agent.ts";
import { poolNodes } from "../../../api/pool.ts";
import { Volumes } from "../../../api/volume.ts";
import { getAttachment } from "../../../tickets/attachment-object.ts";
import { addTicket, removeTickets } from "../../../tickets/tickets.ts";
import type { ServicesContext } from "../context.ts";
import { ANYWHERE, nextTicketStep, type TicketPlan, type WantedTicket } from "./plan.ts";

/** Without a ticket there is nobody whose verdict would tell that a node is ready. */
const NODE_RETRY_MS = 2000;

/** The gaps after a ticket was written and after it was taken away; each service names its own. */
export interface TicketFailpoints {
  taken: () => void;
  released: () => void;
}

/** Makes the tickets as a plan wants them; a volume that is gone has taken its tickets along. */
export async function syncTickets(
  context: ServicesContext,
  plan: TicketPlan,
  gaps: TicketFailpoints,
): Promise<{ requeueAfterMs?: number }> {
  let soonest = plan.afterMs ?? Number.POSITIVE_INFINITY;
  for (const hold of plan.holds) {
    if ((await settle(context, hold, gaps)) === "no node") soonest = Math.min(soonest, NODE_RETRY_MS);
  }
  return Number.isFinite(soonest) ? { requeueAfterMs: soonest } : {};
}

/** `no node`: the volume could be held anywhere, but no node is ready. */
async function settle(
  context: ServicesContext,
  hold: WantedTicket,
  gaps: TicketFailpoints,
): Promise<"settled" | "no node"> {
  const { store, now, signal } = context;
  const attachment = await getAttachment(store, hold.volume, signal);
  const present = attachment?.spec.attachmentTickets?.[hold.id];
  const step = nextTicketStep(hold, present);
  switch (step.do) {
    case "take":
      try {
        const nodeID =
          step.ticket.nodeID === ANYWHERE ? await anyNode(context, hold.volume, present) : step.ticket.nodeID;
        if (nodeID === undefined) return "no node";
        await addTicket(store, hold.volume, { ...step.ticket, nodeID }, now(), signal);
        gaps.taken();
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
      return "settled";
    case "release":
      // Only what is ours: a person's ticket may have taken the id.
      await removeTickets(store, hold.volume, (t) => t.id === hold.id && t.type === hold.type, signal);
      gaps.released();
      return "settled";
    case "rest":
      return "settled";
  }
}

/** A ready node that has the volume's pool open: the one that the ticket names already, else the first. */
async function anyNode(
  { store, informers, signal }: ServicesContext,
  volume: string,
  present: AttachmentTicket | undefined,
): Promise<string | undefined> {
  const { spec } = await store.get(Volumes, { name: volume }, signal);
  const pool = informers.pools.get(spec.pool);
  const { items } = await listAll(store, NodeAgents, { signal });
  const ready = items.filter(({ status }) => status?.state === "Ready").map(({ metadata }) => metadata.name);
  const able = pool === undefined ? [] : poolNodes(pool).filter((node) => ready.includes(node));
  return able.find((node) => node === present?.nodeID) ?? able.sort()[0];
}
