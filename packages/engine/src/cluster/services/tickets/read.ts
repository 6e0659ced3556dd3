import type { Reader } from "@mooring/store";
import type { AttachmentTicket, VolumeAttachment } from "../../../api/attachment.ts";
import { VolumeAttachments } from "../../../api/attachment.ts";
import { withoutHeartbeat } from "../../../api/node-agent.ts";
import { poolNodes, withoutUsage } from "../../../api/pool.ts";
import { type Volume, Volumes } from "../../../api/volume.ts";
import type { ServicesContext } from "../context.ts";
import { ANYWHERE, type TicketPlan, type WantedTicket } from "./plan.ts";
import type { HeldTicket } from "./steps.ts";

/** The tickets of a plan as they are. What else is on their volumes wakes nobody. */
export function readTickets(
  context: ServicesContext,
  reader: Reader,
  { holds }: TicketPlan,
): Promise<HeldTicket[]> {
  return Promise.all(holds.map((hold) => readTicket(context, reader, hold)));
}

async function readTicket(context: ServicesContext, reader: Reader, hold: WantedTicket): Promise<HeldTicket> {
  const ticket = ({ spec }: VolumeAttachment): AttachmentTicket | undefined =>
    spec.attachmentTickets?.[hold.id];
  const present = await reader.get(VolumeAttachments, { name: hold.volume }, ticket, context.signal);
  if (hold.wanted?.nodeID !== ANYWHERE) return { hold, present };
  return { hold, present, able: await readyNodes(context, reader, hold.volume) };
}

/** The ready nodes that have the volume's pool open, by name. */
async function readyNodes(
  { informers, signal }: ServicesContext,
  reader: Reader,
  volume: string,
): Promise<string[]> {
  const poolOf = ({ spec }: Volume): string => spec.pool;
  const name = await reader.get(Volumes, { name: volume }, poolOf, signal);
  const pool = name === undefined ? undefined : reader.over(informers.pools, withoutUsage).get(name);
  const agents = reader.over(informers.nodes, withoutHeartbeat);
  const ready = (node: string): boolean => agents.get(node)?.status?.state === "Ready";
  return pool === undefined ? [] : poolNodes(pool).filter(ready).sort();
}
