import type { KubeObject } from "@mooring/store";
import type { AttacherType } from "../../../api/attachment.ts";
import type { Volume } from "../../../api/volume.ts";
import { ticketIdFor } from "../../../tickets/ticket-id.ts";
import type { TicketRequest } from "../../../tickets/tickets.ts";

/** Node of a ticket that may be anywhere. */
export const ANYWHERE = "";

/** Whether a job needs a volume now. */
export interface WantedTicket {
  volume: string;
  type: AttacherType;
  id: string;
  /** Absent: it needs it no more, or not yet. */
  wanted?: TicketRequest;
}

/** What a data service decides: the tickets that it wants and does not want, and when to read again without any event. */
export interface TicketPlan {
  tickets: readonly WantedTicket[];
  afterMs?: number;
}

/** How a job wants the device: away from workloads, or as it happens to be. */
type Frontend = "hidden" | "any";

interface TicketOptions {
  volume: Volume;
  type: AttacherType;
  /** The ticket dies with it. */
  owner: KubeObject;
  frontend: Frontend;
  parameters?: Record<string, string>;
  /** What the ticket is named after; default the owner. */
  name?: string;
}

/**
 * A ticket for the volume where it is now, or where its data is. A volume of a shared pool that no node has may be on
 * any node: its ticket names none, until it is written. One that is nowhere yet is not wanted yet.
 */
export function ticketFor({ volume, type, owner, frontend, parameters, name }: TicketOptions): WantedTicket {
  const id = ticketIdFor(type, name ?? owner.metadata.name);
  const ticket = { volume: volume.metadata.name, type, id };
  const nodeID = placeFor(volume);
  if (nodeID === undefined) return ticket;
  const disableFrontend = frontend === "hidden" ? "true" : "any";
  const { apiVersion, kind, metadata } = owner;
  const wanted: TicketRequest = {
    ...{ id, type, nodeID },
    parameters: { ...parameters, disableFrontend },
    owner: { apiVersion, kind, name: metadata.name, ...(metadata.uid ? { uid: metadata.uid } : {}) },
  };
  return { ...ticket, wanted };
}

/** The same ticket, not wanted. */
export function noTicket(volume: string, type: AttacherType, name: string): WantedTicket {
  return { volume, type, id: ticketIdFor(type, name) };
}

/** Jobs follow the workload: they go where the volume is, and only without one where the data is. */
function placeFor({ spec, status }: Volume): string | undefined {
  const places = [status?.currentNodeID, spec.nodeID, status?.ownerID];
  return (
    places.find((place) => place !== undefined && place !== "") ??
    (status === undefined ? undefined : ANYWHERE)
  );
}
