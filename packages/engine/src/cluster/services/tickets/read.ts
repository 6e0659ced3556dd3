import type { Reader } from "@mooring/store";
import type { AttachmentTicket, VolumeAttachment } from "../../../api/attachment.ts";
import { VolumeAttachments } from "../../../api/attachment.ts";
import { withoutHeartbeat } from "../../../api/node-agent.ts";
import { poolNodes, withoutUsage } from "../../../api/pool.ts";
import { type Volume, Volumes } from "../../../api/volume.ts";
import type { ServicesContext } from "../context.ts";
import { ANYWHERE, type TicketPlan, type WantedTicket } from "./plan.ts";
import type { TicketState } from "./steps.ts";

/** The tickets of a plan as they are. Other tickets on their volumes wake no key. */
export function readTickets(
  context: ServicesContext,
  reader: Reader,
  { tickets }: TicketPlan,
): Promise<TicketState[]> {
  return Promise.all(tickets.map((planned) => readTicket(context, reader, planned)));
}

async function readTicket(
  context: ServicesContext,
  reader: Reader,
  planned: WantedTicket,
): Promise<TicketState> {
  const ticket = ({ spec }: VolumeAttachment): AttachmentTicket | undefined =>
    spec.attachmentTickets?.[planned.id];
  const present = await reader.get(VolumeAttachments, { name: planned.volume }, ticket, context.signal);
  if (planned.wanted?.nodeID !== ANYWHERE) return { planned, present };
  return { planned, present, able: await readyNodes(context, reader, planned.volume) };
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
