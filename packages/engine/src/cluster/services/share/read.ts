import { getIfAny, type Reader } from "@mooring/store";
import { withoutHeartbeat } from "../../../api/node-agent.ts";
import { isShared, poolNodes, withoutUsage } from "../../../api/pool.ts";
import { type ShareManager, ShareManagers } from "../../../api/share-manager.ts";
import { type Volume, Volumes } from "../../../api/volume.ts";
import { getAttachment } from "../../../tickets/attachment-object.ts";
import { ticketsOf } from "../../../tickets/tickets-of.ts";
import type { ServicesContext } from "../context.ts";
import type { Absences } from "./absences.ts";
import { decide, type SharePlan } from "./decide.ts";

/** A plan with the objects that it is about. */
export interface PlannedShare extends SharePlan {
  key: string;
  /** Undefined: it is gone. */
  volume: Volume | undefined;
  /** Undefined: there is none. */
  manager: ShareManager | undefined;
}

/** Undefined: neither the volume nor a ShareManager of its name is there. */
export async function planShare(
  { informers, signal }: ServicesContext,
  absences: Absences,
  reader: Reader,
  key: string,
): Promise<PlannedShare | undefined> {
  const volume = await getIfAny(reader.store, Volumes, { name: key }, signal);
  const manager = await getIfAny(reader.store, ShareManagers, { name: key }, signal);
  if (volume === undefined) return manager && { key, volume, manager, tickets: [] };
  const attachment = await getAttachment(reader.store, key, signal);
  const tickets = attachment === undefined ? [] : ticketsOf(attachment);
  const agents = reader.over(informers.nodes, withoutHeartbeat).list();
  const nodes = new Map(agents.map((agent) => [agent.metadata.name, agent]));
  const pool = reader.over(informers.pools, withoutUsage).get(volume.spec.pool);
  const sharedBy = pool !== undefined && isShared(pool) ? { sharedBy: poolNodes(pool) } : {};
  const vanished = absences.update([...(pool?.status?.nodes ?? []), ...tickets.map((t) => t.nodeID)], nodes);
  return { ...decide({ volume, tickets, nodes, vanished, ...sharedBy }), key, volume, manager };
}
